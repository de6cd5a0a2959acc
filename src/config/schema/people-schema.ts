/** The sections of the settings file about alerting people: channels of each kind, and when people are alerted. */

import * as z from 'zod';
import { STUCK_MODES } from '../../domain/incidents/audience.ts';
import { list, open, openList, optional, preset, required, section } from '../kinds/field.ts';
import * as kind from '../kinds/kinds.ts';
import { OWN_NAME } from '../kinds/names.ts';
import type { PeopleKind } from '../kinds/people-kinds.ts';

/** A name that the settings file gives to something. */
export const ownName = z
  .string()
  .regex(OWN_NAME, 'a name of up to 63 small letters, digits, - and _ that begins with a letter or digit');

const messagesPerHour = kind.whole(3, 1_000);
const stuckMode = kind.oneOf(STUCK_MODES);

/** Which alerts a channel for people gets. A field that is absent is that of all channels. */
const hearing = {
  sites: openList(kind.text, 'Names of the sites that it gets incidents of', 'all'),
  severity: preset(
    kind.oneOf(['warning', 'critical']),
    'warning',
    'The least urgent that it gets; with `critical` neither digests nor first looks',
  ),
  stuck: open(stuckMode, 'When a single stuck checkout alerts it: `auto`, `each` or `incidents`', 'as `slack.stuck`'),
  paidTwice: open(kind.flag, 'Whether an order that was paid twice alerts it', 'as `slack.paidTwice`'),
};
const ceiling = { maxPerHour: open(messagesPerHour, 'Messages to it within an hour, at most', 'as `slack.maxPerHour`') };
const slackChannel = section({
  webhookUrl: required(kind.secretUrl, 'Incoming webhook of the channel'),
  ...hearing,
  ...ceiling,
});
const teamsChannel = section({
  webhookUrl: required(kind.secretUrl, 'Address of the workflow that begins "when a Teams webhook request is received"'),
  ...hearing,
  ...ceiling,
});
const emailChannel = section({
  smtpUrl: required(
    kind.smtpUrl,
    'SMTP server with user and password, such as `smtps://shop%40example.com:password@smtp.example.com`; `smtp://` encrypts by STARTTLS',
  ),
  from: required(kind.mailAddress, 'Sender of its messages'),
  to: required(kind.mailAddresses, 'Recipients, 20 at most, in a list'),
  ...hearing,
  ...ceiling,
});
const alertsChannel = section({
  webhookUrl: required(kind.secretUrl, 'Where events about incidents are posted'),
  secret: required(kind.signingSecret, 'Signs them: `whsec_` and base64 of 24 to 64 bytes'),
  oldSecrets: list(kind.signingSecret, [], 'Secrets that `secret` replaces; each signs beside it until it is taken out here'),
  ...hearing,
});
const alertmanagerChannel = section({
  webhookUrl: required(
    kind.secretUrl,
    'Where an Alertmanager is, such as `http://alertmanager:9093`; each Alertmanager of a cluster is a channel',
  ),
  sites: hearing.sites,
  severity: preset(kind.oneOf(['warning', 'critical']), 'warning', 'The least urgent incidents that it gets'),
});

export const slack = section({
  stuck: preset(
    stuckMode,
    'auto',
    'When a single stuck checkout alerts people: `each` always, `incidents` never, `auto` while fewer than 100 stays or 20 customers a day are known of its state and site',
  ),
  paidTwice: preset(
    kind.flag,
    true,
    'Whether people are alerted of an order that was paid twice; where more than one order in 50 repeats, they are not',
  ),
  groupWait: preset(kind.duration, '30s', 'Time a new incident gathers purchases before people are alerted'),
  quietFor: preset(
    kind.duration,
    '10m',
    'Time from the end of an alarm (five later customers got on, or half an hour without a stuck one) until its incident is over',
  ),
  groupInterval: preset(kind.duration, '5m', 'Shortest time between two messages about a growing incident'),
  repeatInterval: preset(kind.duration, '4h', 'Time after which people are reminded of an open incident'),
  digest: optional(kind.cron, "When a summary is sent, as a cron expression by each site's own clock (its `timeZone`)"),
  maxPerHour: preset(messagesPerHour, 20, 'Messages to one channel within an hour, at most'),
  channels: z
    .record(ownName, slackChannel)
    .prefault({})
    .describe('Further channels by name; `default` is the one of SLACK_WEBHOOK_URL'),
  deadMansSwitch: optional(
    kind.secretUrl,
    'Address that is called (GET) every minute while all is well, so that another service notices when the calls stop',
  ),
});

/** A channel of each kind for people. */
export const peopleChannel = {
  slack: slackChannel,
  teams: teamsChannel,
  email: emailChannel,
  alerts: alertsChannel,
  alertmanager: alertmanagerChannel,
} satisfies Record<PeopleKind, unknown>;

/** Channels for people: what each gets, how it is, and a test of one. */

import { z } from '@hono/zod-openapi';
import { healthBody } from '../../actions/subscribers/body.ts';
import { Refused } from '../../actions/subscribers/refused.ts';
import { readSubscribers, type StoredSubscriber } from '../../actions/subscribers/subscribers.ts';
import { channelSubscriber } from '../../config/channels.ts';
import { PEOPLE_KIND_NAMES, PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import type { ChannelSettings } from '../../config/settings.ts';
import { modeOf, STUCK_MODES } from '../../domain/incidents/audience.ts';
import { intOrNull, named, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { healthSchema, subscriberName } from '../subscribers/fields.ts';

export function mountChannels(app: Api, { sql, settings, testChannel }: ApiDeps): void {
  const { channels } = settings;
  app.openapi(listRoute, async (c) => {
    const subscribers = await readSubscribers(sql);
    const data = channels.map((channel) => channelBody(channel, subscribers));
    return c.json({ data }, 200);
  });

  app.openapi(testRoute, async (c) => {
    const { id } = c.req.valid('param');
    const channel = channels.find((each) => channelSubscriber(each) === id);
    if (channel === undefined) throw new Refused('subscriber_not_found', `no channel for people is called ${JSON.stringify(id)}`);
    return c.json(await testChannel(channel), 200);
  });
}

function channelBody(channel: ChannelSettings, subscribers: readonly StoredSubscriber[]) {
  const { kind, sites, severity, stuck, paidTwice, maxPerHour } = channel;
  const name = channelSubscriber(channel);
  const row = subscribers.find((each) => each.name === name);
  return {
    name,
    kind,
    title: PEOPLE_KINDS[kind].title,
    sites: sites === null ? null : [...sites],
    severity,
    stuck: modeOf({ stuck }),
    paidTwice,
    maxPerHour,
    // A channel that is new to the settings has no row before a daemon has started with them.
    status: row?.status ?? ('active' as const),
    statusReason: row?.statusReason ?? null,
    health: healthBody(row ?? { status: 'active', health: null, unreached: null }),
  };
}

const channelSchema = named('Channel', {
  name: z.string().openapi({ description: 'The name of its subscriber: `@slack`, `@slack-night`.', example: '@slack' }),
  kind: z.enum(PEOPLE_KIND_NAMES),
  title: z.string().describe('What people call the kind.'),
  sites: z.array(z.string()).nullable().describe('Of which sites it is alerted; null: of all.'),
  severity: z.enum(['warning', 'critical']).describe('The least urgent incidents of which it is alerted.'),
  stuck: z.enum(STUCK_MODES).describe('When a single stuck checkout alerts it.'),
  paidTwice: z.boolean().describe('Whether an order that was paid twice alerts it.'),
  maxPerHour: intOrNull.describe('Messages within an hour, at most; null: there is no such limit.'),
  status: z.enum(['active', 'off']),
  statusReason: textOrNull,
  health: healthSchema,
});

export type ChannelBody = z.output<typeof channelSchema>;

const testedSchema = named('TestedChannel', {
  ok: z.boolean(),
  messages: z.int().describe('Messages that it took.'),
  detail: textOrNull.describe('Why it took no more; null when it took all.'),
});

const listRoute = route('GET /v1/channels', {
  summary: 'List the channels for people',
  description: 'Those that the settings of this daemon name. What each was sent is in `GET /v1/deliveries?subscriber=`.',
  answers: { 200: jsonAnswer('All of them; there are no pages.', z.object({ data: z.array(channelSchema) })) },
});

const testRoute = route('POST /v1/channels/{id}/test', {
  summary: 'Send test messages to a channel for people',
  description:
    'Sends the three messages of `slack test` (`teams test`, `alerts test`), which are marked as a test, by the way that alerts take, and answers once each was taken or one was refused. That takes some seconds.',
  params: { id: subscriberName },
  answers: { 200: jsonAnswer('How it went.', testedSchema) },
  problems: ['subscriber_not_found'],
});

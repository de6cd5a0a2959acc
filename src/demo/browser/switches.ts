/** Switches by which people break and mend parts of the demo, and the steps that follow. */

import type { Control } from '../../../packages/simulator/src/contract/control.ts';
import type { IncidentBody } from '../../api/incidents/fields.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { wall } from '../../runtime/time.ts';
import type { DaemonProcess } from '../cast/daemon.ts';
import { BROKEN_SITE, BROKEN_STATE } from '../cast/settings.ts';
import type { Shop } from '../cast/shop.ts';
import { quickLife, sendCustomers } from '../cast/traffic.ts';
import { type Seen, shopOf, waitingOf } from './facts.ts';

/** An event that follows when a switch is turned. */
export interface Step {
  readonly words: string;
  /** About so long after the switch was turned. */
  readonly after: Milliseconds;
  happened(seen: Seen): boolean;
}

const step = (words: string, after: Milliseconds, happened: Step['happened']): Step => ({ words, after, happened });

/** A button: it is pressed as long as the part is broken; a second press mends the part. */
export interface Switch {
  readonly group: string;
  readonly word: string;
  /** The effect of the switch, and what to watch. */
  readonly purpose: string;
  /** The state of the demo while the switch is on. */
  readonly says: string;
  /** The last change, once the switch is off again. */
  readonly saysAfter: string;
  isOn(): boolean;
  turn(on: boolean): void | Promise<void>;
  /** The steps that follow, in their order; `before`: facts from when the switch was turned. */
  steps(on: boolean, before: Seen): readonly Step[];
}

export interface SwitchParts {
  readonly control: Control;
  readonly daemon: DaemonProcess;
  readonly shop: Shop;
}

const SLOW: Milliseconds = 3_000;
/** Seconds, for 429 answers. */
const RETRY_AFTER = 5;
/** So many customers come to a page that was broken or mended, a second apart: enough that an incident opens, and that it ends. */
const RUSH = { every: 1_000, most: 14 };
/** Incidents open and end after two polls; their messages then wait for the `groupWait` of the settings. */
const GATHERED: Milliseconds = 10_000;

export function switchesOf(parts: SwitchParts): ReadonlyMap<string, Switch> {
  const { control } = parts;
  return new Map<string, Switch>([
    ['card', pageSwitch(control, { page: 'card', state: BROKEN_STATE, place: 'the card provider' })],
    ['identity', pageSwitch(control, { page: 'identity', state: 'WaitingForIdentityProvider', place: 'the identity provider' })],
    ['slow', slowSwitch(control)],
    ['throttle', faultSwitch(control, THROTTLE)],
    ['refuse', faultSwitch(control, REFUSE)],
    ['daemon', daemonSwitch(parts)],
    ['receiver', receiverSwitch(parts)],
  ]);
}

/** Whether Slack got a message about one of these incidents. */
const slackGot =
  (about: readonly IncidentBody[]) =>
  ({ posts }: Seen): boolean =>
    posts.some(({ text, blocks }) => about.some(({ id }) => `${text} ${JSON.stringify(blocks)}`.includes(id)));

function pageSwitch(control: Control, { page, state, place }: { page: string; state: string; place: string }): Switch {
  const spec = { site: BROKEN_SITE, states: [state] };
  const isIts = (each: IncidentBody): boolean => each.kind === 'stuck' && each.site === BROKEN_SITE && each.state?.name === state;
  // Purchases of an earlier demo, which are not watched any more, are a group of their own.
  const stuckNow = ({ overview }: Seen): number =>
    (overview?.purchases.groups ?? [])
      .filter((each) => each.site === BROKEN_SITE && each.state?.name === state)
      .reduce((sum, { stuck }) => sum + stuck, 0);
  const broken: readonly Step[] = [
    step('a first customer has waited for longer than 10 s and is stuck', 16_000, (seen) => stuckNow(seen) > 0),
    step('with the fourth stuck customer in a row the incident opens', 20_000, ({ incidents }) => incidents.some(isIts)),
    step('Slack gets one message, however many are stuck', 20_000 + GATHERED, (seen) =>
      slackGot(seen.incidents.filter(isIts))(seen),
    ),
  ];
  const mended = (before: Seen): readonly Step[] => {
    const open = before.incidents.filter(isIts);
    const back = step('the customers come back and pay', 5_000, (seen) => stuckNow(seen) === 0);
    if (open.length === 0) return [back];
    const ended = ({ overview, incidents }: Seen): boolean => overview !== null && !incidents.some(isIts);
    return [
      back,
      step('after five later customers got on, too, the incident ends', 26_000, ended),
      step('Slack gets the message that it is over', 27_000, slackGot(open)),
    ];
  };
  return {
    group: BROKEN_SITE,
    word: `Break ${page} page`,
    purpose: `Customers of ${BROKEN_SITE} do not come back from ${place}, and no error shows anywhere. An incident opens after about 20 s, and Slack gets one message. More customers than usual come meanwhile, so that you need not wait.`,
    says: `the ${page} page of ${BROKEN_SITE} is broken: customers do not come back from ${place}, and the service shows no error`,
    saysAfter: `the ${page} page of ${BROKEN_SITE} was mended`,
    isOn: () => control.settings().brokenPages.some((each) => each.site === BROKEN_SITE && each.state === state),
    turn: (on) => {
      if (on) control.breakPage(spec);
      else control.fixPage(spec);
      sendCustomers(control, [quickLife(state)], RUSH);
    },
    steps: (on, before) => (on ? broken : mended(before)),
  };
}

const changes = ({ arrivals }: Seen): number => arrivals.filter(({ event }) => event.type === 'purchase.state_changed').length;

function slowSwitch(control: Control): Switch {
  return {
    group: 'Service',
    word: 'Slow',
    purpose: 'Each answer of the service takes 3 s. Changes are noticed later; no poll fails and no alert is sent.',
    says: 'the service takes 3 s for each answer: changes are noticed later, and no poll fails',
    saysAfter: 'the service answers at once again',
    isOn: () => control.settings().latency > 0,
    turn: (on) => control.setLatency(on ? SLOW : 0),
    steps: (on) =>
      on
        ? [
            step(
              'changes are recorded and delivered all the same',
              5_000,
              ({ arrivals }) => arrivals.length > 0 && arrivals.at(-1)!.at - arrivals[0]!.at > SLOW,
            ),
          ]
        : [step('changes arrive quickly again', 5_000, (seen) => changes(seen) >= 5)],
  };
}

const unreadable = ({ incidents }: Seen): IncidentBody[] => incidents.filter(({ kind }) => kind === 'unreachable');

/** The steps that follow once the service answers well again. */
function readableAgain(before: Seen): readonly Step[] {
  const open = unreadable(before);
  const answers = step(
    'a probe is answered, and polls follow',
    10_000,
    (seen) => changes(seen) > 0 && (seen.overview?.sites.every((site) => site.answers) ?? false),
  );
  if (open.length === 0) return [answers];
  return [
    answers,
    step('the incident ends', 20_000, (seen) => seen.overview !== null && unreadable(seen).length === 0),
    step('Slack gets the message that it is over', 25_000, slackGot(open)),
  ];
}

interface Fault extends Pick<Switch, 'word' | 'purpose' | 'says' | 'saysAfter'> {
  readonly kind: '429-seconds' | '503';
  readonly retryAfter?: number;
  /** The first step once the switch is on. */
  readonly opens: string;
  readonly after: Milliseconds;
}

/** Calls of the service that fail in one way, until the switch is released. */
function faultSwitch(control: Control, { kind, retryAfter, opens, after, ...words }: Fault): Switch {
  const broken = [
    step(opens, after, (seen) => unreadable(seen).length > 0),
    step('Slack gets one message', after + GATHERED, (seen) => slackGot(unreadable(seen))(seen)),
  ];
  return {
    ...words,
    group: 'Service',
    isOn: () => control.settings().faults.some((each) => each.kind === kind),
    turn: (on) => {
      // One fault at a time: a service that throttles does not refuse.
      control.clearFaults();
      if (on) control.fail({ kind, for: '1h', ...(retryAfter !== undefined && { retryAfter }) });
    },
    steps: (on, before) => (on ? broken : readableAgain(before)),
  };
}

const THROTTLE: Fault = {
  kind: '429-seconds',
  retryAfter: RETRY_AFTER,
  opens: 'an incident opens once no purchase could be read for two minutes',
  after: 120_000,
  word: 'Throttle',
  purpose:
    'The service answers 429 and asks for 5 s of rest (Retry-After). Polls are put off as it asks; only when that lasts for two minutes do people get an alert.',
  says: 'the service answers 429 to each call and asks for 5 s of rest: polls are put off, nothing is lost',
  saysAfter: 'the service throttles no more',
};

const REFUSE: Fault = {
  kind: '503',
  opens: 'an incident opens',
  after: 12_000,
  word: 'Refuse',
  purpose:
    'The service answers 503. Polling stops but for a probe now and then, and no customer is called stuck meanwhile. An incident opens within seconds.',
  says: 'the service answers 503 to each call: single probes are sent instead of polls, and no customer is called stuck meanwhile',
  saysAfter: 'the service answers again',
};

function daemonSwitch({ daemon }: SwitchParts): Switch {
  const started: readonly Step[] = [
    step('the daemon answers', 4_000, ({ overview }) => overview !== null),
    step(
      'what changed meanwhile is found by polls',
      6_000,
      (seen) => changes(seen) > 0 && seen.overview?.polling.due.count === 0,
    ),
    step('and is delivered', 8_000, (seen) => seen.arrivals.length > 0 && (waitingOf(seen) ?? Number.POSITIVE_INFINITY) <= FEW),
  ];
  return {
    group: 'Kill',
    word: 'Daemon',
    purpose:
      'Kills the process as a power cut would (SIGKILL). An open page says so and stays as it was. Released, the daemon starts again and finds what changed meanwhile; nothing is lost, and nothing arrives twice out of order.',
    says: 'the daemon is dead: customers go on buying, nothing is polled and nothing delivered, and pages stay as they were',
    saysAfter: 'the daemon was started again',
    isOn: () => !daemon.isRunning(),
    turn: (on) => (on ? daemon.kill() : daemon.start()),
    steps: (on) => (on ? [] : started),
  };
}

/** While customers come and go, a few deliveries are always on their way. */
const FEW = 5;

function receiverSwitch({ shop }: SwitchParts): Switch {
  const dead: readonly Step[] = [
    step('a delivery fails', 2_000, (seen) => (shopOf(seen)?.health.failures ?? 0) > 0),
    step(
      'after four failures in a row the shop is paused, and its deliveries are parked',
      7_000,
      (seen) => shopOf(seen)?.health.status === 'paused' && shopOf(seen)!.waiting.parked > 0,
    ),
  ];
  const revived = (before: Seen): readonly Step[] => {
    const until = shopOf(before)?.health.pausedUntil ?? null;
    const wait = until === null ? 2_000 : Math.max(Date.parse(until) - wall(), 0) + 1_000;
    return [
      {
        words: `the pause ends ${until === null ? 'at once' : `after about ${Math.ceil(wait / 1_000)} s`}, and one delivery tries the shop`,
        after: wait,
        happened: (seen) => shopOf(seen)?.health.status === 'ok' && seen.arrivals.length > 0,
      },
      step(
        'all that waited arrives, in order',
        wait + 5_000,
        (seen) => shopOf(seen)?.waiting.parked === 0 && waitingOf(seen)! <= FEW,
      ),
    ];
  };
  return {
    group: 'Kill',
    word: 'Receiver',
    purpose:
      "The shop's receiver takes no connection. After four failures in a row its deliveries are parked. Released, it catches up in order when its pause ends, which lasts a minute at first and longer each time.",
    says: "the shop's receiver is dead: events are recorded, and their deliveries wait",
    saysAfter: "the shop's receiver takes webhooks again",
    isOn: () => !shop.isOpen(),
    turn: (on) => (on ? shop.close() : shop.open()),
    steps: (on, before) => (on ? dead : revived(before)),
  };
}

/** The acts of a plan, drawn by their weights. */

import type { Random } from '../world/random.ts';
import {
  type Act,
  CONNECTION_ERRORS,
  DAY,
  HOUR,
  LIVES,
  MINUTE,
  MOODS,
  ODD_ANSWERS,
  ROW_CHANGES,
  STATEMENT_ERRORS,
  type Variation,
} from './act.ts';
import { SCHEMAS_OF_WORLDS } from './upgrade.ts';

interface Frame {
  readonly daemons: number;
  readonly receivers: number;
  /** Milliseconds in which acts begin. */
  readonly lasts: number;
}
/** Draws acts that begin at a moment; what lasts for a while lasts so many milliseconds. */
type Draw = (random: Random, frame: Frame, at: number, lasts: number) => readonly Act[];

/** Acts that belong together, as a rule one. */
export function drawActs(random: Random, frame: Frame): readonly Act[] {
  const at = 2_000 + random.below(frame.lasts - 2_000);
  const lasts = 1_000 + random.below(random.chance(0.2) ? 3 * MINUTE : 30_000);
  return random.one(DRAWS)(random, frame, at, lasts);
}

const share = (random: Random): number => 0.02 + 0.3 * random.next();
const daemonOf = (random: Random, { daemons }: Frame): number => random.below(daemons);
const receiverOf = (random: Random, { receivers }: Frame): number => random.below(receivers);

const KINDS: readonly (readonly [weight: number, Draw])[] = [
  [
    8,
    (random, _, at) => [
      {
        at,
        does: 'registers',
        by: random.one(['sql', 'api', 'view'] as const),
        life: random.one(LIVES),
        count: 1 + random.below(random.chance(0.02) ? 250 : random.chance(0.3) ? 20 : 5),
      },
    ],
  ],
  [4, (random, frame, at) => [{ at, does: random.one(['kills', 'stops'] as const), daemon: daemonOf(random, frame) }]],
  [3, (random, frame, at) => [{ at, does: 'starts', daemon: daemonOf(random, frame) }]],
  [
    8,
    (random, frame, at, lasts) => [
      {
        at,
        does: random.one(['freezes', 'cuts off'] as const),
        daemon: daemonOf(random, frame),
        // As often as not until after the end of the lease.
        lasts: random.chance(0.5) ? lasts : 25_000 + random.below(MINUTE),
      },
    ],
  ],
  [
    4,
    (random, frame, at) => [
      {
        at,
        does: random.one(['changes settings', 'reloads settings'] as const),
        daemon: daemonOf(random, frame),
        to: variation(random),
      },
    ],
  ],
  [
    1,
    (random, frame, at) => [
      {
        at,
        does: 'upgrades',
        daemon: daemonOf(random, frame),
        from: random.one(SCHEMAS_OF_WORLDS),
        lasts: 30_000 + random.below(MINUTE),
      },
    ],
  ],
  [2, secondSite],
  [1, (random, _, at) => [{ at, does: 'stops all', lasts: random.one([HOUR, 5 * HOUR, DAY, 3 * DAY, 14 * DAY]) }]],
  [2, (_, __, at) => [{ at, does: 'restarts the database' }]],
  [4, goesBack],
  [4, (random, _, at, lasts) => [{ at, does: 'loses statements', share: share(random), lasts }]],
  [
    3,
    (random, _, at, lasts) => [{ at, does: 'fails statements', code: random.one(STATEMENT_ERRORS), share: share(random), lasts }],
  ],
  [2, (random, _, at, lasts) => [{ at, does: 'refuses connections', code: random.one(CONNECTION_ERRORS), lasts }]],
  [2, (_, __, at, lasts) => [{ at, does: 'refuses writes', lasts }]],
  [2, (_, __, at, lasts) => [{ at, does: 'loses notifications', lasts }]],
  [2, (_, __, at, lasts) => [{ at, does: 'holds the database', lasts }]],
  [4, stepsClock],
  [
    4,
    (random, _, at, lasts) => [
      { at, does: 'spoils answers', kind: random.one(ODD_ANSWERS), share: 0.2 + 0.8 * random.next(), lasts },
    ],
  ],
  [
    5,
    (random, frame, at, lasts) => [
      {
        at,
        does: 'spoils a receiver',
        receiver: receiverOf(random, frame),
        mood: random.one(MOODS),
        share: random.chance(0.5) ? 1 : 0.2 + 0.3 * random.next(),
        lasts: random.chance(0.2) ? 8 * MINUTE : lasts,
      },
    ],
  ],
  [
    2,
    (random, _, at, lasts) => [
      { at, does: random.one(['loses calls', 'doubles calls'] as const), share: 0.3 + 0.7 * random.next(), lasts },
    ],
  ],
  [3, (random, _, at, lasts) => [{ at, does: 'slows the network', ms: 5 + random.below(2_000), lasts }]],
  [
    5,
    (random, _, at) => [
      { at, does: random.one(['asks for polls', 'registers again', 'silences', 'acknowledges', 'resumes'] as const) },
    ],
  ],
  [3, (random, _, at) => [{ at, does: 'wavers', purchase: random.below(30), lasts: 2_000 + random.below(20_000) }]],
  [4, (random, _, at) => [{ at, does: random.one(['stops watching', 'erases'] as const), purchase: random.below(30) }]],
  [3, (random, _, at) => [{ at, does: 'writes a row', purchase: random.below(30), how: random.one(ROW_CHANGES) }]],
  [3, (random, _, at) => [{ at, does: random.one(['oversteps', 'undoes an order'] as const) }]],
  [
    4,
    (random, frame, at) => [
      { at, does: random.one(['replays', 'tests', 'retries deliveries'] as const), receiver: receiverOf(random, frame) },
    ],
  ],
];
const DRAWS = KINDS.flatMap(([weight, draw]) => Array.from({ length: weight }, () => draw));

/** A copy, and somewhat later the database is that copy again; or there is nothing of it. */
function goesBack(random: Random, { lasts }: Frame, at: number): readonly Act[] {
  if (random.chance(0.2)) return [{ at, does: 'goes back', to: 'nothing' }];
  const later = at + 500 + random.below(random.chance(0.5) ? 15_000 : lasts - at);
  return [
    { at, does: 'copies the database' },
    { at: Math.min(later, lasts), does: 'goes back', to: 'copy' },
    // These get the numbers that lost ones had.
    {
      at: Math.min(later + random.below(4_000), lasts),
      does: 'registers',
      by: 'sql',
      life: random.one(LIVES),
      count: 1 + random.below(4),
    },
  ];
}

/** Seconds to days; back as often as forward, and often back again. */
function stepsClock(random: Random, frame: Frame, at: number): readonly Act[] {
  const of = random.chance(0.6) ? 'database' : daemonOf(random, frame);
  const far = random.one([500, 20_000, 5 * MINUTE, HOUR, 12 * HOUR, 3 * DAY]);
  const by = Math.round((0.5 + 0.5 * random.next()) * far) * (random.chance(0.5) ? 1 : -1);
  const step: Act = { at, does: 'steps a clock', of, by };
  if (random.chance(0.5)) return [step];
  const back = Math.min(at + 1_000 + random.below(2 * MINUTE), frame.lasts);
  return [step, { at: back, does: 'steps a clock', of, by: -by }];
}

/** A daemon starts again with a site that the others do not name, and a shop registers purchases there. */
function secondSite(random: Random, frame: Frame, at: number): readonly Act[] {
  const registered = Math.min(at + 8_000 + random.below(20_000), frame.lasts);
  return [
    { at, does: 'changes settings', daemon: daemonOf(random, frame), to: { ...variation(random), hasSecondSite: true } },
    {
      at: registered,
      does: 'registers',
      by: 'sql',
      life: random.one(LIVES),
      count: 1 + random.below(5),
      site: 'second',
    },
  ];
}

function variation(random: Random): Variation {
  return {
    ...(random.chance(0.3) ? { giveUpAfter: random.one(['1d', '7d']) } : {}),
    ...(random.chance(0.4)
      ? {
          schedule: random.one([
            ['1s', '2s', '5s', '5m', '5m', '5m', '5m'],
            ['1m', '5m', '5m', '5m', '5m'],
          ]),
        }
      : {}),
    ...(random.chance(0.4) ? { concurrency: random.one([1, 2, 8]) } : {}),
    ...(random.chance(0.2) ? { maxRps: 5 } : {}),
    ...(random.chance(0.3) ? { isRotating: true } : {}),
    ...(random.chance(0.4) ? { most: random.one(['10s', '1m']) } : {}),
  };
}

/**
 * Plans made for guards that drawn plans rarely put to the test. Each is short, so that the world without a guard takes a second or two;
 * lives visit each state once, a few seconds after each other.
 */
import type { ScriptStep } from '../../../packages/simulator/src/contract/purchases.ts';
import { type Act, DAY } from '../acts/act.ts';
import type { Plan } from '../acts/plan.ts';

const SECOND = 1_000;
const step = (state: string, seconds: number): ScriptStep => ({ state, after: seconds * SECOND });
/** A customer who is done within half a minute. */
const QUICK = [step('BeingProcessed', 3), step('WaitingForMobilePayment', 8), step('WaitingForEidApp', 9), step('Completed', 9)];
/** One who takes a minute and more. */
const SLOW = [
  step('BeingProcessed', 3),
  step('WaitingForMobilePayment', 14),
  step('WaitingForEidApp', 14),
  step('WaitingForFinnishDirectPayment', 14),
  step('ElectronicIdValidationRequired', 14),
  step('Completed', 14),
];
/** One who is stuck for a while. */
const STUCK = [step('WaitingForCardPayments', 1), step('Completed', 100)];

/** An act, so many seconds after the start. */
type Later<A extends Act> = A extends Act ? Omit<A, 'at'> : never;
const act = (seconds: number, what: Later<Act>): Act => ({ at: seconds * SECOND, ...what }) as Act;
const by = (seconds: number, life: Extract<Act, { does: 'registers' }>['life'], count: number, how: 'sql' | 'api' = 'sql'): Act =>
  act(seconds, { does: 'registers', by: how, life, count });
const oddly = (seconds: number, kind: Extract<Act, { does: 'spoils answers' }>['kind'], share: number, lasts: number): Act =>
  act(seconds, { does: 'spoils answers', kind, share, lasts: lasts * SECOND });
const receiver = (
  seconds: number,
  mood: Extract<Act, { does: 'spoils a receiver' }>['mood'],
  share: number,
  lasts: number,
): Act => act(seconds, { does: 'spoils a receiver', receiver: 0, mood, share, lasts: lasts * SECOND });

/** Seconds until everything is mended, and what happens until then; one daemon unless told otherwise, and one receiver. */
const ACTS: Readonly<Record<string, readonly [lasts: number, acts: readonly Act[], daemons?: number]>> = {
  calm: [45, [by(2, QUICK, 4), by(12, QUICK, 3, 'api'), by(14, 'paid-at-second-poll', 3)]],
  'calm with two': [60, [by(2, QUICK, 6), by(14, SLOW, 4, 'api'), by(20, 'paid-at-second-poll', 8, 'api')], 2],
  crowd: [20, [by(4, [step('Completed', 1)], 120)], 2],
  'slow service': [45, [by(4, QUICK, 60), oddly(6, 'hang', 1, 35)]],
  'lost statements': [
    60,
    [
      by(2, SLOW, 8),
      act(6, { does: 'loses statements', share: 0.35, lasts: 40 * SECOND }),
      by(12, QUICK, 4),
      by(20, SLOW, 3, 'api'),
    ],
  ],
  'failing statements': [
    60,
    [by(2, SLOW, 8), act(6, { does: 'fails statements', code: '40001', share: 0.3, lasts: 45 * SECOND }), by(12, QUICK, 6)],
  ],
  'frozen daemons': [
    100,
    [
      by(2, SLOW, 16),
      oddly(6, 'late', 1, 90),
      receiver(6, 'slow', 1, 90),
      act(10, { does: 'slows the network', ms: 500, lasts: 80 * SECOND }),
      act(14, { does: 'freezes', daemon: 0, lasts: 16 * SECOND }),
      act(29.5, { does: 'loses statements', share: 1, lasts: 8 * SECOND }),
      by(42, SLOW, 12),
      act(44, { does: 'freezes', daemon: 1, lasts: 40 * SECOND }),
      act(83.5, { does: 'loses statements', share: 1, lasts: 9 * SECOND }),
    ],
    2,
  ],
  'the database goes back': [
    80,
    [
      by(2, SLOW, 4),
      act(8, { does: 'copies the database' }),
      by(9, SLOW, 4),
      act(20, { does: 'goes back', to: 'copy' }),
      by(20.2, QUICK, 4),
      act(50, { does: 'copies the database' }),
      by(51, QUICK, 3),
      act(54, { does: 'goes back', to: 'copy' }),
    ],
  ],
  'answers that break off': [60, [by(2, QUICK, 5), receiver(4, 'cuts', 0.5, 30)]],
  'a receiver fails': [130, [by(2, SLOW, 6), receiver(5, 'fails', 1, 110), by(36, SLOW, 3)]],
  'a receiver fails at times': [70, [by(2, SLOW, 6), receiver(4, 'fails', 0.4, 50), by(20, QUICK, 4)]],
  'a slow receiver': [
    60,
    [
      by(
        2,
        ['BeingProcessed', 'WaitingForMobilePayment', 'WaitingForEidApp', 'WaitingForFinnishDirectPayment', 'Completed'].map(
          (state) => step(state, 2.5),
        ),
        4,
      ),
      receiver(2, 'slow', 1, 45),
      ...[5, 7, 8, 9.5, 10.5, 12, 13, 14.5, 16].map((at) => act(at, { does: 'asks for polls' })),
    ],
  ],
  'a short schedule': [
    60,
    [
      act(1, { does: 'changes settings', daemon: 0, to: { schedule: ['1s', '2s', '3s', '4s', '60s', '60s'], isBrief: true } }),
      by(16, QUICK, 2),
      receiver(18, 'fails', 1, 8),
    ],
  ],
  'a daemon is killed': [
    80,
    [
      by(2, SLOW, 8),
      act(12, { does: 'kills', daemon: 0 }),
      by(13, QUICK, 6),
      act(25, { does: 'starts', daemon: 0 }),
      by(30, SLOW, 6, 'api'),
    ],
    2,
  ],
  'daemons are stopped': [
    60,
    [
      by(2, SLOW, 8),
      oddly(4, 'late', 1, 50),
      receiver(4, 'slow', 1, 50),
      act(12, { does: 'stops', daemon: 0 }),
      by(13, QUICK, 4),
      act(24, { does: 'starts', daemon: 0 }),
      act(36, { does: 'stops', daemon: 1 }),
    ],
    2,
  ],
  'customers are stuck': [150, [by(2, STUCK, 1), by(8, STUCK, 1), by(20, STUCK, 1), by(30, STUCK, 2)]],
  'the service is down': [60, [by(2, SLOW, 5), oddly(8, '500', 1, 35)]],
  'the service is down for long': [700, [by(2, 'abandoned-in-form', 6), oddly(70, '500', 1, 600)]],
  'the service knows no purchase': [700, [by(2, 'abandoned-in-form', 6), oddly(70, '404', 1, 600)]],
  'no answers': [70, [by(2, SLOW, 8), oddly(8, 'hang', 1, 50)]],
  'Retry-After': [60, [by(2, SLOW, 8), oddly(8, '429-seconds', 1, 45)]],
  'refused tokens': [60, [by(2, SLOW, 5), oddly(8, '401', 0.4, 30)]],
  'unknown ids': [90, [by(2, SLOW, 5), oddly(6, '404', 0.9, 60)]],
  'nobody can ask': [130, [by(2, STUCK, 2), act(20, { does: 'cuts off', daemon: 0, lasts: 60 * SECOND })]],
  'people act': [
    70,
    [
      by(2, SLOW, 5),
      act(5, { does: 'slows the network', ms: 900, lasts: 50 * SECOND }),
      act(8, { does: 'wavers', purchase: 0, lasts: 20 * SECOND }),
      act(9, { does: 'wavers', purchase: 1, lasts: 20 * SECOND }),
      act(12, { does: 'asks for polls' }),
      act(20, { does: 'asks for polls' }),
      act(24, { does: 'stops watching', purchase: 2 }),
      act(28, { does: 'asks for polls' }),
    ],
  ],
  'erased while its events wait': [
    90,
    [
      act(1, { does: 'changes settings', daemon: 0, to: { concurrency: 1 } }),
      by(18, SLOW, 12),
      receiver(18, 'slow', 1, 50),
      act(24, { does: 'erases', purchase: 10 }),
      act(24.5, { does: 'erases', purchase: 11 }),
      act(25, { does: 'erases', purchase: 9 }),
    ],
  ],
  'repeated calls': [
    40,
    [
      by(2, QUICK, 2),
      act(4, { does: 'loses calls', share: 0.8, lasts: 25 * SECOND }),
      act(6, { does: 'tests', receiver: 0 }),
      act(8, { does: 'tests', receiver: 0 }),
      act(9, { does: 'tests', receiver: 0 }),
    ],
  ],
  'a clock is set back': [
    70,
    [
      by(2, SLOW, 8),
      ...[8, 14, 20, 26, 32, 38, 44, 50].map((at) => act(at, { does: 'steps a clock', of: 'database', by: -8 * SECOND })),
    ],
  ],
  'short watches': [
    260,
    [
      act(1, { does: 'changes settings', daemon: 0, to: { giveUpAfter: '2m' } }),
      by(
        16,
        [step('BeingProcessed', 50), step('WaitingForMobilePayment', 50), step('WaitingForEidApp', 50), step('Completed', 60)],
        3,
      ),
    ],
  ],
  'a clock skips days': [
    130,
    [
      act(1, { does: 'changes settings', daemon: 0, to: { giveUpAfter: '1d' } }),
      by(16, [step('BeingProcessed', 5), step('WaitingForMobilePayment', 60), step('Completed', 30)], 3),
      act(40, { does: 'steps a clock', of: 0, by: 3 * DAY }),
      act(45, { does: 'steps a clock', of: 'database', by: 3 * DAY }),
    ],
  ],
  'the database restarts': [
    60,
    [
      by(2, SLOW, 6),
      ...[6, 10, 14, 18, 22, 26, 30].map((at) => act(at, { does: 'restarts the database' })),
      act(12, { does: 'cuts off', daemon: 0, lasts: 25 * SECOND }),
      act(40, { does: 'stops', daemon: 1 }),
    ],
    2,
  ],
  'lost notifications': [60, [act(1, { does: 'loses notifications', lasts: 50 * SECOND }), by(10, QUICK, 2), by(30, QUICK, 2)]],
};

/** Their seeds come after those that are drawn. */
const FIRST_SEED = 601;

export const PLANS: Readonly<Record<string, Plan>> = Object.fromEntries(
  Object.entries(ACTS).map(([name, [lasts, acts, daemons = 1]], index) => [
    name,
    { seed: FIRST_SEED + index, daemons, receivers: 1, lasts: lasts * SECOND, acts: acts.toSorted((a, b) => a.at - b.at) },
  ]),
);

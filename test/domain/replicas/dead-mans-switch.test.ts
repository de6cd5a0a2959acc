import { expect, test } from 'vitest';
import {
  type ChannelQueue,
  hasBegun,
  lateChannel,
  MESSAGES_WITHIN,
  reasonToWithhold,
} from '../../../src/domain/replicas/dead-mans-switch.ts';
import { HANGS_AFTER, type LoopSeen } from '../../../src/domain/replicas/loop-health.ts';

const MINUTE = 60_000;
const NOW = Date.UTC(2026, 10, 20, 9, 15);
const loop = (name: string, differs: Partial<LoopSeen> = {}): LoopSeen =>
  ({ name, failing: null, goodAgo: 1_000, ...differs }) as LoopSeen;
const WELL = ['poller', 'judge', 'notifier', 'ownership', 'upkeep'].map((name) => loop(name));
const but = (name: string, differs: Partial<LoopSeen>) => WELL.map((each) => (each.name === name ? loop(name, differs) : each));
const NOBODY = { all: 0, hearing: 0, queues: [] };
const FAILING = { failing: { for: MINUTE, error: 'x' } } as unknown as Partial<LoopSeen>;
const queue: ChannelQueue = { channel: '@slack', dueAt: NOW - 15 * MINUTE - 1, messages: [], maxPerHour: null };

test.each<[string, readonly LoopSeen[], Parameters<typeof reasonToWithhold>[1], string | null]>([
  ['all is well', WELL, { ...NOBODY, all: 2, hearing: 1 }, null],
  ['there is no channel', WELL, NOBODY, null],
  [
    'a loop that is needed fails',
    but('judge', FAILING),
    NOBODY,
    'The work of the judge has been failing for a minute; /readyz says why.',
  ],
  [
    'no lease can be renewed',
    but('ownership', FAILING),
    NOBODY,
    'The work of the ownership has been failing for a minute; /readyz says why.',
  ],
  ['a loop that no alert needs fails', but('upkeep', FAILING), NOBODY, null],
  ['a loop hangs', but('poller', { goodAgo: HANGS_AFTER + 1 }), NOBODY, 'The poller has not done its work for two minutes.'],
  ['a loop is slow', but('poller', { goodAgo: HANGS_AFTER }), NOBODY, null],
  [
    'a loop never did its work',
    but('notifier', { goodAgo: null }),
    NOBODY,
    'The notifier has not done its work for two minutes.',
  ],
  [
    'a loop is not there',
    WELL.filter(({ name }) => name !== 'judge'),
    NOBODY,
    'The judge has not done its work for two minutes.',
  ],
  ['no channel takes messages', WELL, { ...NOBODY, all: 2 }, 'No channel for people takes messages.'],
  [
    'messages do not leave',
    WELL,
    { all: 1, hearing: 1, queues: [queue] },
    'Deliveries to @slack have been due for a quarter of an hour and have not left.',
  ],
])('it is called or withheld: %s', (_, loops, people, reason) => expect(reasonToWithhold(loops, people, NOW)).toBe(reason));

test('a message is late a quarter of an hour after it was due and the ceiling of the channel let it go', () => {
  const lates = (differs: Partial<ChannelQueue>) => lateChannel([{ ...queue, ...differs }], NOW);
  expect([lates({}), lates({ dueAt: NOW - 15 * MINUTE })]).toEqual(['@slack', null]);
  const messages = Array.from({ length: 5 }, (_, at) => NOW - (50 + at) * MINUTE);
  expect(lates({ maxPerHour: 5, messages })).toBeNull();
  expect(lates({ maxPerHour: 50, messages })).toBe('@slack');
  // A message from before `MESSAGES_WITHIN` holds nothing back that could be late by now.
  const after = (at: number) => lates({ dueAt: NOW - 120 * MINUTE, maxPerHour: 3, messages: [at] });
  expect([after(NOW - MESSAGES_WITHIN), after(NOW - MESSAGES_WITHIN - 1)]).toEqual([null, '@slack']);
});

test('a daemon has begun when each needed loop did its work once, or had two minutes for it', () => {
  expect([hasBegun(WELL, 0), hasBegun(but('judge', { goodAgo: null }), HANGS_AFTER)]).toEqual([true, false]);
  expect(hasBegun([], HANGS_AFTER + 1)).toBe(true);
});

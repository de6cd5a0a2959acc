import { expect, test } from 'vitest';
import { nextCall } from '../../../src/daemon/poller/planning.ts';
import type { Entry } from '../../../src/daemon/poller/window/entries.ts';
import { aPurchase } from '../../support/a-purchase.ts';

const NOW = 1_800_000_000_000;

interface Situation {
  readonly inFlight?: number;
  readonly waiting?: number;
  readonly wasExtra?: boolean;
  /** How long an extra call, or a poll, has to wait for its place. */
  readonly extraWait?: number;
  readonly pollWait?: number;
  readonly dueAt?: number | null;
  readonly outlasts?: boolean;
  readonly mayBegin?: boolean;
  /** Whether a purchase that answered well stands in for the one that is due. */
  readonly probed?: boolean;
  /** Whether the shard of that purchase stays. */
  readonly mayProbe?: boolean;
}

/** What is planned, and what was done with the entry. */
function planned(situation: Situation) {
  const {
    inFlight = 0,
    waiting = 0,
    wasExtra = false,
    extraWait = 0,
    pollWait = 0,
    dueAt = NOW,
    outlasts = true,
    mayBegin = true,
    probed = false,
    mayProbe = mayBegin,
  } = situation;
  const entryOf = (id: number) => ({ purchase: aPurchase({ id, shard: id }), dueAt, slot: 3 }) as unknown as Entry;
  const done: string[] = [];
  const window = {
    nextDue: () => dueAt,
    takeOneOf: (_: unknown, may: (purchase: Entry['purchase']) => boolean) =>
      probed && may(entryOf(2).purchase) ? entryOf(2) : null,
    take: () => entryOf(1),
    settle: (_: Entry, next: { dueAt: number }) => done.push(`due in ${next.dueAt - NOW}`),
    nextTurn: () => done.push('next turn'),
  };
  const calls = {
    ...{ inFlight, wasExtra, turns: { waiting }, site: { concurrency: 4, timeout: 1_000 } },
    ...{ probes: () => [2], take: () => ({ wait: pollWait, probe: probed }) },
  };
  const ownership = {
    outlasts: () => outlasts,
    mayBegin: (shard: number) => (shard === 2 ? mayProbe : mayBegin),
    share: () => 1,
  };
  type Args = Parameters<typeof nextCall>;
  const context = { ownership, extraCalls: { giveTurn: () => extraWait }, now: NOW } as unknown as Args[2];
  const call = nextCall(calls as unknown as Args[0], window as unknown as Args[1], context);
  return { call: call.kind === 'poll' ? `poll ${call.entry.purchase.id}${call.probe ? ' as a probe' : ''}` : call, done };
}
const rest = (wait: number) => ({ kind: 'rest', wait });
const woken = rest(Number.POSITIVE_INFINITY);

test.each<[string, Situation, unknown, string[]?]>([
  ['all calls that may be under way are', { inFlight: 4 }, woken],
  ['nothing is due', { dueAt: null }, woken],
  ['the first one is due later', { dueAt: NOW + 700 }, rest(700)],
  ['the first one is due in a moment', { dueAt: NOW + 3 }, rest(25)],
  ['one is due', {}, 'poll 1', ['next turn']],
  ['a purchase that answered well is polled in its place', { probed: true }, 'poll 2 as a probe', ['next turn']],
  ['the shard of one that answered well is given away', { probed: true, mayProbe: false }, 'poll 1 as a probe', ['next turn']],
  ['an extra call waits, too', { waiting: 1 }, { kind: 'extra' }],
  ['the last call was an extra one', { waiting: 1, wasExtra: true }, 'poll 1', ['next turn']],
  ['the last call was an extra one, and no poll is due', { waiting: 1, wasExtra: true, dueAt: NOW + 1 }, { kind: 'extra' }],
  ['the last call was an extra one, and nothing is watched', { waiting: 1, wasExtra: true, dueAt: null }, { kind: 'extra' }],
  ['the extra call has to wait for its place', { waiting: 1, extraWait: 40 }, rest(40)],
  ['the poll has to wait for its place', { pollWait: 30 }, rest(30), ['due in 0']],
  ['the lease is too short', { outlasts: false }, rest(250)],
  ['its shard is given away', { mayBegin: false }, { kind: 'skipped' }, ['due in 250']],
])('the next call when %s', (_, situation, call, done = []) => expect(planned(situation)).toEqual({ call, done }));

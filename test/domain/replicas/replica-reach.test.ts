import { describe, expect, test } from 'vitest';
import {
  afterLook,
  outdone,
  type Participation,
  type ReplicaSiteReach,
  TAKING_PART,
} from '../../../src/domain/replicas/replica-reach.ts';

const MINUTE = 60_000;
/** Looks every five seconds for so long. */
function look(
  from: Participation,
  at: number,
  duration: number,
  found: { isUnreached: boolean; othersReach: boolean },
): Participation {
  let standing = from;
  for (let now = at; now <= at + duration; now += 5_000) standing = afterLook(standing, { ...found, now });
  return standing;
}
const OUTDONE = { isUnreached: true, othersReach: true };

describe('a replica that reaches nothing while another one does', () => {
  test('leaves its shards after half a minute, and takes them back as soon as it reaches something', () => {
    const before = look(TAKING_PART, 0, 25_000, OUTDONE);
    expect(before.awayUntil).toBeNull();
    const away = look(before, 30_000, 0, OUTDONE);
    expect(away.awayUntil).toBe(30_000 + 5 * MINUTE);
    expect(afterLook(away, { isUnreached: false, othersReach: false, now: 60_000 })).toEqual(TAKING_PART);
    expect(look(TAKING_PART, 60 * MINUTE, 25_000, OUTDONE).awayUntil).toBeNull();
  });

  test('stays away until the moment that was set', () => {
    const away = look(TAKING_PART, 0, 30_000, OUTDONE);
    expect(afterLook(away, { ...OUTDONE, now: away.awayUntil! - 1 })).toBe(away);
    expect(afterLook(away, { ...OUTDONE, now: away.awayUntil! }).awayUntil).toBeNull();
  });

  test('tries again after a bounded time, longer from one time to the next, and an hour at most', () => {
    let standing: Participation = TAKING_PART;
    let now = 0;
    const times: number[] = [];
    for (let round = 0; round < 7; round++) {
      for (; standing.awayUntil === null; now += 5_000) standing = afterLook(standing, { ...OUTDONE, now });
      times.push(standing.awayUntil - (now - 5_000));
      for (; standing.awayUntil !== null; now += 5_000) standing = afterLook(standing, { ...OUTDONE, now });
    }
    expect(times.map((time) => time / MINUTE)).toEqual([5, 10, 20, 40, 60, 60, 60]);
  });

  test('takes part again when no other replica reaches more', () => {
    const away = look(TAKING_PART, 0, 30_000, OUTDONE);
    expect(afterLook(away, { isUnreached: true, othersReach: false, now: 40_000 }).awayUntil).toBeNull();
  });

  test('never leaves while nothing is known of others', () => {
    expect(look(TAKING_PART, 0, 60 * MINUTE, { isUnreached: true, othersReach: false }).awayUntil).toBeNull();
  });
});

describe('another replica does the work better', () => {
  const row = (replica: string, site: string, differs: Partial<ReplicaSiteReach>): ReplicaSiteReach => ({
    ...{ replica, site, isAway: false, lastReadAt: null, failingSince: null, reason: null, error: null },
    ...differs,
  });
  const failing = { failingSince: 100_000, reason: 'unreachable', error: 'no route' } as const;

  test('when it has read a site clearly after this one failed there', () => {
    const mine = row('me', 'se', failing);
    expect(outdone([mine, row('other', 'se', { lastReadAt: 110_000 })], 'me')).toBeNull();
    expect(outdone([mine, row('other', 'se', { lastReadAt: 110_001 })], 'me')).toEqual({
      since: 100_000,
      error: 'Site se: no route',
    });
  });

  test('not when it has left its own shards, fails too, or fails where this one reads', () => {
    const mine = [row('me', 'se', failing), row('me', 'no', { lastReadAt: 200_000 })];
    const reads = row('other', 'se', { lastReadAt: 200_000 });
    expect(outdone([...mine, reads], 'me')).not.toBeNull();
    expect(outdone([...mine, { ...reads, isAway: true }], 'me')).toBeNull();
    expect(outdone([...mine, { ...reads, ...failing }], 'me')).toBeNull();
    expect(outdone([...mine, reads, row('other', 'no', failing)], 'me')).toBeNull();
  });

  test('with every site that it reads and this one does not, since the first of them failed here', () => {
    const mine = [row('me', 'se', failing), row('me', 'no', { failingSince: 90_000 }), row('me', 'dk', failing)];
    const theirs = ['se', 'no'].map((site) => row('other', site, { lastReadAt: 200_000 }));
    expect(outdone([...mine, ...theirs, row('other', 'dk', failing)], 'me')).toEqual({
      since: 90_000,
      error: 'Site se: no route Site no: no usable answer.',
    });
  });

  test('not when it reads only a site that this one reads too', () => {
    const mine = [row('me', 'se', failing), row('me', 'no', { lastReadAt: 200_000 })];
    const theirs = [row('other', 'se', failing), row('other', 'no', { lastReadAt: 200_000 })];
    expect(outdone([...mine, ...theirs], 'me')).toBeNull();
  });

  test('each alone, and only in what fails here', () => {
    const mine = [row('me', 'se', failing), row('me', 'no', { lastReadAt: 200_000 })];
    const [readsNo, readsSe] = [row('c', 'no', { lastReadAt: 200_000 }), row('b', 'se', { lastReadAt: 200_000 })];
    expect(outdone([...mine, readsNo, readsSe, row('b', 'no', failing)], 'me')).toBeNull();
    const third = row('third', 'no', { ...failing, failingSince: 50_000 });
    expect(outdone([...mine, readsSe, row('b', 'no', { lastReadAt: 200_000 }), third], 'me')?.since).toBe(100_000);
  });

  test('not when nothing fails here', () => {
    expect(outdone([row('me', 'se', { lastReadAt: 1 }), row('other', 'se', { lastReadAt: 200_000 })], 'me')).toBeNull();
  });
});

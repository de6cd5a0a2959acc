/** When a replica in trouble writes rows for the judge, and when it posts to people itself; that people are alerted once is tested in stories/replica-trouble. */
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { createTroubles } from '../../../src/daemon/upkeep/replica-troubles.ts';
import type { TroubleSeen } from '../../../src/domain/replicas/loop-health.ts';
import { aLog, NOW } from '../notifier/parts.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** An alert of it can be stored and delivered. */
const NOT_RECORDING: TroubleSeen = { reason: 'not_recording', for: 90 * SECOND, error: 'disk full' };
const SETTINGS: TroubleSeen = { reason: 'settings_differ', for: 30 * SECOND, error: null };

/** A replica that ticks every five seconds. */
function replica({ rank = 0 } = {}) {
  const { log, logged } = aLog();
  const state = {
    moment: 0,
    /** Troubles by the part that sees them. */
    seen: [[], []] as TroubleSeen[][],
    /** The database takes what is written. */
    isKept: true,
    /** A channel takes what is posted. */
    isTaken: true,
    /** Ends a statement that hangs; null: none hangs. */
    end: null as (() => void) | null,
  };
  const hangs = { next: false };
  /** Reasons as they were written, and `post` for each recorded post. */
  const written: string[] = [];
  /** Who wrote rows, in which process. */
  const writers = new Set<string>();
  /** For how long a tick waited at most for its rows. */
  const rests: number[] = [];
  const posts: { at: number; data: Record<string, unknown> }[] = [];
  const statement = async (strings: readonly string[], values: readonly unknown[]): Promise<unknown[]> => {
    if (hangs.next) {
      hangs.next = false;
      await new Promise<void>((resolve) => {
        state.end = resolve;
      });
    }
    if (!state.isKept) throw new Error('the database keeps nothing');
    const isPost = strings.join('').includes('raised as');
    written.push(isPost ? 'post' : String(values[1]));
    if (!isPost) writers.add(`${values[0]} ${values[2]}`);
    return [];
  };
  const sql = (strings: readonly string[], ...values: unknown[]) =>
    strings.join('').startsWith('(select') || strings.join('').startsWith('unnest') ? values : statement(strings, values);
  const troubles = createTroubles({
    ...{ sql: sql as never, log, replica: 'me', rank: () => rank },
    clock: {
      now: () => NOW + state.moment,
      monotonic: () => state.moment,
      sleep: (rest: number) => {
        rests.push(rest);
        return new Promise((resolve) => setImmediate(resolve));
      },
    },
    sources: [() => state.seen[0]!, () => state.seen[1]!],
    post: async (data) => {
      posts.push({ at: state.moment, data });
      return state.isTaken ? { event: { id: 'evt_1' } as never, channels: ['@slack'] } : null;
    },
  });
  /** Ticks for so long. */
  const live = async (duration: number): Promise<void> => {
    const until = state.moment + duration;
    for (; state.moment < until; state.moment += 5 * SECOND) {
      expect(await troubles.tick()).toBe(5 * SECOND);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { troubles, state, hangs, written, writers, rests, posts, live, logged, events: () => logged.map(({ event }) => event) };
}

test('a replica that is well writes nothing and alerts nobody', async () => {
  const { live, written, rests, posts, events, troubles } = replica();
  await live(MINUTE);
  expect([written, rests, posts, events(), troubles.isPosted()]).toEqual([[], [], [], [], false]);
});

test('troubles are rows while they last, from all parts that see them, and are logged when they change', async () => {
  const { live, state, written, writers, rests, posts, logged } = replica();
  state.seen = [[NOT_RECORDING], [SETTINGS]];
  await live(10 * SECOND);
  expect(written).toEqual(['not_recording,settings_differ', 'not_recording,settings_differ']);
  expect([[...writers], rests]).toEqual([[`me ${hostname()} (process ${process.pid})`], [2_500, 2_500]]);
  expect(logged).toMatchObject([
    {
      ...{ level: 'error', event: 'replica.troubled', reasons: 'not_recording,settings_differ' },
      ...{ since: new Date(NOW - 90 * SECOND).toISOString(), detail: expect.stringContaining('Disk full') },
    },
  ]);
  state.seen = [[], [SETTINGS]];
  await live(5 * SECOND);
  state.seen = [[], []];
  await live(20 * SECOND);
  // The last rows are taken away, once.
  expect(written.slice(2)).toEqual(['settings_differ', '']);
  expect(logged.slice(1)).toMatchObject([
    { event: 'replica.troubled', reasons: 'settings_differ' },
    { level: 'info', event: 'replica.recovered' },
  ]);
  expect(posts, 'the judge alerts people').toEqual([]);
});

test('another database may hold old rows of a replica that is well', async () => {
  const { live, written, troubles } = replica();
  troubles.forget();
  await live(20 * SECOND);
  expect(written).toEqual(['']);
});

test('rows whose statement failed may be there: they are taken away all the same', async () => {
  const { live, state, written } = replica();
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false });
  await live(5 * SECOND);
  Object.assign(state, { seen: [[], []], isKept: true });
  await live(10 * SECOND);
  expect(written).toEqual(['']);
});

test('while the database keeps no alert, a replica posts to people itself, once, and has that recorded as soon as it can', async () => {
  const { live, state, written, posts, logged, troubles } = replica();
  Object.assign(state, { seen: [[NOT_RECORDING], [SETTINGS]], isKept: false });
  await live(5 * SECOND);
  expect([posts, troubles.isPosted()]).toEqual([[], false]);
  await live(5 * MINUTE);
  const since = new Date(NOW + 5 * SECOND - 90 * SECOND).toISOString();
  expect(posts).toEqual([
    {
      at: 5 * SECOND,
      data: {
        ...{
          incidentId: expect.stringMatching(/^inc_/),
          kind: 'replica',
          site: null,
          severity: 'critical',
          since,
          openedAt: since,
        },
        ...{
          endedAt: null,
          reopenedAt: null,
          acknowledged: null,
          answer: null,
          postedBy: `${hostname()} (process ${process.pid})`,
        },
        troubles: [expect.objectContaining({ reason: 'not_recording' }), expect.anything()],
      },
    },
  ]);
  expect(troubles.isPosted()).toBe(true);
  expect(logged).toContainEqual(
    expect.objectContaining({
      ...{ level: 'warn', event: 'replica.posted', channels: ['@slack'] },
      detail: expect.stringContaining('Disk full'),
    }),
  );
  expect(logged).toContainEqual(expect.objectContaining({ level: 'debug', event: 'replica.post_not_recorded' }));
  state.isKept = true;
  await live(5 * SECOND);
  expect([written.filter((each) => each === 'post'), troubles.isPosted()]).toEqual([['post'], false]);
  await live(MINUTE);
  expect([written.filter((each) => each === 'post').length, posts.length]).toEqual([1, 1]);
});

test('rows that were written count for fifteen seconds', async () => {
  const { live, state, posts } = replica();
  state.seen[0] = [NOT_RECORDING];
  await live(5 * SECOND);
  state.isKept = false;
  await live(MINUTE);
  // Written at 0, so not known to be there from 20 s on, and confirmed five seconds later.
  expect(posts.map(({ at }) => at)).toEqual([25 * SECOND]);
});

test.each(['not_judging', 'not_settling'] as const)(
  'a replica posts what is stored, and yet reaches nobody: %s',
  async (reason) => {
    const { live, state, posts } = replica();
    state.seen[0] = [SETTINGS, { reason, for: 90 * SECOND, error: null }];
    await live(MINUTE);
    expect(posts.map(({ at }) => at)).toEqual([5 * SECOND]);
  },
);

test('where other replicas post before it, a replica waits for longer', async () => {
  const { live, state, posts } = replica({ rank: 1 });
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false });
  await live(2 * MINUTE);
  expect(posts.map(({ at }) => at)).toEqual([MINUTE + 5 * SECOND]);
});

test('where no channel takes a post, it is tried again at growing intervals, from ten seconds to five minutes', async () => {
  const { live, state, posts, events, troubles } = replica();
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false, isTaken: false });
  await live(28 * MINUTE);
  const pauses = posts.slice(1).map(({ at }, place) => at - posts[place]!.at);
  expect(pauses.map((pause) => pause / SECOND)).toEqual([10, 20, 40, 80, 160, 300, 300, 300, 300]);
  expect(troubles.isPosted()).toBe(false);
  expect(events()).not.toContain('replica.posted');
  state.isTaken = true;
  await live(5 * MINUTE);
  expect(troubles.isPosted()).toBe(true);
});

test('after a post that a channel took, the next trouble is posted as soon as the first was', async () => {
  const { live, state, posts } = replica();
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false, isTaken: false });
  await live(MINUTE);
  state.isTaken = true;
  await live(2 * MINUTE);
  Object.assign(state, { seen: [[], []], isKept: true });
  await live(MINUTE);
  posts.length = 0;
  const begun = state.moment;
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false, isTaken: false });
  await live(MINUTE);
  expect(posts.map(({ at }) => (at - begun) / SECOND)).toEqual([5, 15, 35]);
});

test('what is over before it is confirmed is not posted', async () => {
  const { live, state, posts } = replica();
  Object.assign(state, { seen: [[NOT_RECORDING], []], isKept: false });
  await live(5 * SECOND);
  state.seen = [[], []];
  await live(MINUTE);
  expect(posts).toEqual([]);
});

test('a database that does not answer holds up no alert, and is asked nothing more meanwhile', async () => {
  const { live, state, hangs, written, posts, logged } = replica();
  state.seen[0] = [NOT_RECORDING];
  hangs.next = true;
  await live(30 * SECOND);
  expect([written.filter((each) => each !== 'post'), posts.map(({ at }) => at)]).toEqual([[], [5 * SECOND]]);
  state.isKept = false;
  state.end!();
  await live(5 * SECOND);
  expect(logged).toContainEqual(
    expect.objectContaining({ level: 'debug', event: 'replica.troubles_not_stored', error: expect.anything() }),
  );
  state.isKept = true;
  await live(5 * SECOND);
  expect(written.filter((each) => each !== 'post')).toEqual(['not_recording']);
});

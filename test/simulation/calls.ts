/** What the service may be called while it fails, and how much at once: what a world's daemons asked, second by second. */
import type { Act } from './acts/act.ts';
import { isCalm, LOAD } from './model-calm.ts';
import { CONCURRENCY } from './settings.ts';
import type { World } from './world.ts';

/** A receiver that takes nothing is paused within this, and then tried once after each pause. */
const PAUSED_WITHIN = 40_000;
const PAUSES = 60_000;

type Spoiling = Extract<Act, { does: 'spoils answers' }>;

/** Calls that were under way when the trouble began have come in after this, and the waits between probes are long. */
const BREAKS_WITHIN = 12_000;
/** From then on a probe leaves no more often. */
const PROBES_EVERY = 8_000;
/** Seconds that the service names in `Retry-After`, less some for calls that cross that answer. */
const ASKED_PAUSE = 27_000;
const CROSSING = 1_500;
/** With these answers the service is at fault, and not a purchase. */
const DOWN: readonly Spoiling['kind'][] = ['500', '503', 'hang', 'reset'];
const isDown = (kind: Spoiling['kind']): boolean => DOWN.includes(kind);

/** Notes at the end of a failure of all calls whether daemons went on calling. Nothing is said of times when daemons were disturbed. */
export function watchCalls(world: World, { kind, share, lasts }: Spoiling): void {
  const { scheduler } = world.shell;
  if (share < 1) return;
  const begin = world.wall;
  const [after, until] = kind === '429-seconds' ? [CROSSING, ASKED_PAUSE] : [BREAKS_WITHIN, lasts];
  if (until > lasts || until < after || !(isDown(kind) || kind === '429-seconds')) return;
  // A failing site is asked by each daemon for itself.
  const most = kind === '429-seconds' ? 0 : world.plan.daemons * (2 + Math.floor((until - after) / PROBES_EVERY));
  const calls = (): number => world.outside.simulator.control.counters().calls.status;
  const later = (ms: number, act: () => void): void => void scheduler.after(ms, act, world.outside.place);
  const judge = (from: number): void => {
    const before = calls();
    later(until - after, () => {
      const made = calls() - before;
      const others = world.excuses.filter((each) => each.kind !== 'spoiled' || each.from !== begin);
      if (made > most && isCalm(others, from, world.wall, { spoiled: false }))
        world.problems.push(
          `${made} calls in ${(until - after) / 1_000} s while the service answers each with ${kind}, at most ${most} may be`,
        );
    });
  };
  if (kind !== '429-seconds') {
    later(after, () => judge(begin));
    return;
  }
  // The pause begins with the first answer that asks for it.
  const asked = calls();
  const look = (): void => {
    if (world.wall > begin + lasts - until) return;
    if (calls() > asked) later(after, () => judge(begin));
    else later(500, look);
  };
  look();
}

/** Notes at the end of a receiver's failure whether daemons went on calling it. */
export function watchAttempts(world: World, { receiver, mood, share, lasts }: Extract<Act, { does: 'spoils a receiver' }>): void {
  if (share < 1 || !['fails', 'closes'].includes(mood) || lasts < PAUSED_WITHIN) return;
  if (world.plan.acts.some(({ does }) => does === 'resumes' || does === 'tests' || does === 'retries deliveries')) return;
  const begin = world.wall;
  const { got } = world.outside.receivers[receiver]!;
  const later = (ms: number, act: () => void): void => void world.shell.scheduler.after(ms, act, world.outside.place);
  later(PAUSED_WITHIN, () => {
    const before = got.length;
    later(lasts - PAUSED_WITHIN - 1, () => {
      const made = got.length - before;
      const most = 1 + Math.floor((lasts - PAUSED_WITHIN) / PAUSES);
      if (made > most && isCalm(world.excuses, begin, world.wall, { acts: LOAD }))
        world.problems.push(
          `${made} calls of shop${receiver} in ${(lasts - PAUSED_WITHIN) / 1_000} s while it ${mood}, at most ${most} may be`,
        );
    });
  });
}

/** What is wrong with the number of calls under way at a time. */
export function crowd({ plan, outside }: World): string[] {
  // Calls of a daemon that is gone, or that were given up, may be under way beside those of the next.
  const isPlain = plan.acts.every(({ does, ...act }) => PLAIN.has(does) && !('kind' in act && act.kind === 'slow-body'));
  const { mostInFlight } = outside.simulator.control.counters();
  const most = plan.daemons * (CONCURRENCY + 1);
  return isPlain && mostInFlight > most ? [`${mostInFlight} calls under way at a time, at most ${most} may be`] : [];
}

const PLAIN: ReadonlySet<string> = new Set([
  'registers',
  'registers again',
  'asks for polls',
  'spoils answers',
] satisfies Act['does'][]);

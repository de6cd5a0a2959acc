/** Makes a plan that fails as short as it can be while it still fails. */
import type { Plan } from '../acts/plan.ts';

export interface Shrinking {
  /** Whether the world of a plan breaks the same promise. */
  readonly fails: (plan: Plan) => Promise<boolean>;
  /** So many plans are tried side by side. The answer does not depend on it. */
  readonly jobs: number;
  /** Plans tried at most. */
  readonly most: number;
  /** Called with each shorter plan that fails, and how many were tried so far. */
  readonly onShorter?: (plan: Plan, tried: number) => void;
}

type Act = Plan['acts'][number];
/** Answers the place of the first of these plans that fails, or -1. */
type FirstFailing = (plans: readonly Plan[]) => Promise<number>;

/** The least that shows a duration. */
const SECOND = 1_000;
/** Fields that name one of several things. */
const NAMES = ['daemon', 'receiver', 'purchase'];

/** Answers the shortest plan found: fewer acts first, then fewer daemons and receivers, then less time and smaller numbers. */
export async function shrink(plan: Plan, { fails, jobs, most, onShorter }: Shrinking): Promise<Plan> {
  const tried = new Set([JSON.stringify(plan)]);
  const firstFailing: FirstFailing = async (plans) => {
    for (let from = 0; from < plans.length; from += jobs) {
      const batch = plans.slice(from, from + jobs);
      const results = await Promise.all(
        batch.map((each) => {
          const text = JSON.stringify(each);
          if (tried.has(text) || tried.size > most) return false;
          tried.add(text);
          return fails(each);
        }),
      );
      const at = results.indexOf(true);
      if (at === -1) continue;
      onShorter?.(batch[at]!, tried.size - 1);
      return from + at;
    }
    return -1;
  };
  let shortest = plan;
  for (let before: Plan | null = null; before !== shortest; ) {
    before = shortest;
    shortest = await withFewerActs(shortest, firstFailing, jobs);
    for (const smaller of [withFewerDaemons, withFewerReceivers, withRoundTimes, withLessTime]) {
      shortest = await reduce(shortest, smaller, firstFailing);
    }
    for (let index = 0; index < shortest.acts.length; index++) {
      for (const name of Object.keys(shortest.acts[index]!)) {
        shortest = await reduce(shortest, (each) => withSmaller(each, index, name), firstFailing);
      }
    }
  }
  return shortest;
}

/** Takes the first of these reductions that fails, and reduces the plan again. */
async function reduce(plan: Plan, smaller: (plan: Plan) => readonly Plan[], firstFailing: FirstFailing): Promise<Plan> {
  for (let reduced = plan; ; ) {
    const candidates = smaller(reduced);
    const at = await firstFailing(candidates);
    if (at === -1) return reduced;
    reduced = candidates[at]!;
  }
}

/** Leaves out halves, then quarters, down to single acts. */
async function withFewerActs(plan: Plan, firstFailing: FirstFailing, jobs: number): Promise<Plan> {
  let shortest = plan;
  for (let size = Math.ceil(plan.acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < shortest.acts.length; ) {
      const { acts } = shortest;
      const starts = Array.from({ length: jobs }, (_, index) => from + index * size).filter((start) => start < acts.length);
      const candidates = starts.map((start): Plan => ({ ...shortest, acts: acts.toSpliced(start, size) }));
      const at = await firstFailing(candidates);
      from += (at === -1 ? starts.length : at) * size;
      if (at !== -1) shortest = candidates[at]!;
    }
  }
  return shortest;
}

/** Acts of what is no longer there go with it. */
const without = (acts: readonly Act[], name: string, from: number): Act[] =>
  acts.filter((act) => !(Number((act as unknown as Record<string, unknown>)[name]) >= from));
const withFewerDaemons = (plan: Plan): Plan[] =>
  fewer(plan.daemons).map((daemons) => ({ ...plan, daemons, acts: without(plan.acts, 'daemon', daemons) }));
const withFewerReceivers = (plan: Plan): Plan[] =>
  fewer(plan.receivers).map((receivers) => ({ ...plan, receivers, acts: without(plan.acts, 'receiver', receivers) }));
const fewer = (count: number): number[] => (count > 1 ? [...new Set([1, count - 1])] : []);

/** Whole seconds are easier to read. */
function withRoundTimes(plan: Plan): Plan[] {
  const round = (at: number): number => Math.max(SECOND, Math.round(at / SECOND) * SECOND);
  const rounded = { ...plan, lasts: round(plan.lasts), acts: plan.acts.map((act) => ({ ...act, at: round(act.at) })) };
  const changed = JSON.stringify(rounded) !== JSON.stringify(plan);
  return changed ? [rounded] : [];
}

/** Ends soon after the last act, or half as long after that act. */
function withLessTime(plan: Plan): Plan[] {
  const last = plan.acts.at(-1)?.at ?? 0;
  const left = plan.lasts - last;
  return numbersBelow(left, SECOND).map((less) => ({ ...plan, lasts: last + less }));
}

/** Plans in which one number of one act is smaller; acts keep their order. */
function withSmaller(plan: Plan, index: number, name: string): Plan[] {
  const act = plan.acts[index]!;
  const value: unknown = (act as unknown as Record<string, unknown>)[name];
  if (typeof value !== 'number') return [];
  const before = plan.acts[index - 1]?.at ?? 0;
  const numbers = name === 'at' ? numbersBelow(value - before, SECOND).map((less) => before + less) : smallerThan(value, name);
  return numbers.map((each) => ({ ...plan, acts: plan.acts.with(index, { ...act, [name]: each }) }));
}

function smallerThan(value: number, name: string): number[] {
  if (NAMES.includes(name)) return value > 0 ? [0] : [];
  // Of a share, everything is the simplest.
  if (!Number.isInteger(value)) return value < 1 ? [1] : [];
  return numbersBelow(value, name === 'lasts' ? SECOND : 1);
}

/** The least, a quarter and a half of a number, in multiples of the least, as far as they are nearer to 0. */
function numbersBelow(value: number, least: number): number[] {
  const parts = [Math.sign(value), Math.trunc(value / 4 / least), Math.trunc(value / 2 / least)].map((part) => part * least);
  return [...new Set(parts)].filter((part) => part !== 0 && Math.abs(part) < Math.abs(value));
}

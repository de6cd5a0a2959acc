/** The poll policy: what the file says, field by field, over the defaults. */
import { formatDuration } from '../core/duration.ts';
import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf, type StatePolicy } from '../core/poll-plan.ts';
import { stateName, stateValue } from '../core/states.ts';
import type { FileSettings, StatePlan } from './file-schema.ts';

function merge(base: StatePolicy, plan: StatePlan): StatePolicy {
  const final = plan.final ?? base.final;
  return {
    poll: {
      first: plan.poll.first ?? base.poll.first,
      growth: plan.poll.growth ?? base.poll.growth,
      most: plan.poll.most ?? base.poll.most,
    },
    // What is over cannot be stuck, and what goes on is not rechecked: making a state final (or not) drops the other's default.
    stuckAfter: plan.stuckAfter === undefined ? (final ? null : base.stuckAfter) : plan.stuckAfter,
    final,
    recheck: plan.recheck === undefined ? (final ? base.recheck : []) : [...plan.recheck].sort((a, b) => a - b),
  };
}

function check(where: string, plan: StatePlan, merged: StatePolicy): string[] {
  const { first, most } = merged.poll;
  const problems: string[] = [];
  if (first > most) {
    const told = (given: unknown) => (given === undefined ? ', the default,' : '');
    problems.push(
      `${where}.poll: first (${formatDuration(first)}${told(plan.poll.first)}) is longer than most (${formatDuration(most)}${told(plan.poll.most)})`.replaceAll(
        ',)',
        ')',
      ),
    );
  }
  if (merged.final && merged.stuckAfter !== null) {
    problems.push(
      `${where}.stuckAfter: ${formatDuration(merged.stuckAfter)} has no meaning in a final state; remove it or set final: false`,
    );
  }
  if (!merged.final && merged.recheck.length > 0) {
    problems.push(`${where}.recheck: has no meaning in a state that is not final; remove it or set final: true`);
  }
  return problems;
}

/** Merges and checks; unknown numbers start from the fallback, and the fallback from `default:`. */
export function pollPolicy(plans: FileSettings['states'], polling: FileSettings['polling'], problems: string[]): PollPolicy {
  let policy: PollPolicy = { ...DEFAULT_POLL_POLICY, ...polling };
  const { default: rest, ...named } = plans;
  if (rest !== undefined) {
    const fallback = merge(policy.fallback, rest);
    problems.push(...check('states.default', rest, fallback));
    policy = { ...policy, fallback };
  }
  const states = new Map(policy.states);
  const keys = new Map<number, string>();
  for (const [key, plan] of Object.entries(named)) {
    const value = stateValue(key)!;
    const other = keys.get(value);
    if (other !== undefined)
      problems.push(`states.${key}: is the same state as states.${other} (${stateName(value)}); keep one of them`);
    keys.set(value, key);
    const merged = merge(policyOf(policy, value), plan);
    problems.push(...check(`states.${key}`, plan, merged));
    states.set(value, merged);
  }
  return { ...policy, states };
}

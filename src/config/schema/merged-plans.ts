/** The poll policy: the file's plans, field by field, over the defaults. */

import { DEFAULT_POLL_POLICY, type PollPolicy, policyOf, type StatePolicy } from '../../domain/polling/poll-plan.ts';
import { stateName, stateValue } from '../../domain/purchases/states.ts';
import { autoLimit, FIRST_LIMIT, mostLimit, SHORTEST_SESSION } from '../../domain/stays/dwell.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { FileSettings, StatePlan } from './file-schema.ts';

function merge(base: StatePolicy, plan: StatePlan, sessionLength: Milliseconds): StatePolicy {
  const final = plan.final ?? base.final;
  const kept = final ? { stuckAfter: null, auto: false } : base;
  const { stuckAfter, auto } = plan.stuckAfter === undefined ? kept : limitOf(base, plan.stuckAfter, sessionLength);
  return {
    poll: {
      first: plan.poll.first ?? base.poll.first,
      growth: plan.poll.growth ?? base.poll.growth,
      most: plan.poll.most ?? base.poll.most,
    },
    // A final state has no limit, and another one no rechecks: making a state final (or not) drops the other's default.
    stuckAfter,
    auto,
    final,
    recheck: plan.recheck === undefined ? (final ? base.recheck : []) : [...plan.recheck].sort((a, b) => a - b),
  };
}

/** A limit that is written, over the plan `base`. `auto` holds the limit of `base` until something is learned. */
export function limitOf(
  base: StatePolicy,
  written: Milliseconds | null | 'auto',
  sessionLength: Milliseconds,
): Pick<StatePolicy, 'stuckAfter' | 'auto'> {
  if (written !== 'auto') return { stuckAfter: written, auto: false };
  const fallback = base.stuckAfter ?? FIRST_LIMIT;
  const { ms } = autoLimit({ own: null, pooled: null, fallback, most: mostLimit(sessionLength) });
  return { stuckAfter: ms, auto: true };
}

function check(where: string, plan: StatePlan, merged: StatePolicy): string[] {
  const { first, most } = merged.poll;
  const problems: string[] = [];
  if (first > most) {
    const origin = (given: unknown) => (given === undefined ? ', the default,' : '');
    problems.push(
      `${where}.poll: first (${formatDuration(first)}${origin(plan.poll.first)}) is longer than most (${formatDuration(most)}${origin(plan.poll.most)})`.replaceAll(
        ',)',
        ')',
      ),
    );
  }
  if (merged.final && merged.stuckAfter !== null) {
    const written = merged.auto ? 'auto' : formatDuration(merged.stuckAfter);
    problems.push(`${where}.stuckAfter: ${written} has no meaning in a final state; remove it or set final: false`);
  }
  if (!merged.final && merged.recheck.length > 0) {
    problems.push(`${where}.recheck: has no meaning in a state that is not final; remove it or set final: true`);
  }
  return problems;
}

/** Merges and checks; unknown numbers start from the fallback, and the fallback from `default:`. */
export function pollPolicy(plans: FileSettings['states'], polling: FileSettings['polling'], problems: string[]): PollPolicy {
  let policy: PollPolicy = { ...DEFAULT_POLL_POLICY, ...polling, atRisk: polling.atRisk ?? null };
  problems.push(...riskProblems('polling', policy));
  const { sessionLength } = policy;
  const { default: rest, ...named } = plans;
  if (rest !== undefined) {
    const fallback = merge(policy.fallback, rest, sessionLength);
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
    const merged = merge(policyOf(policy, value), plan, sessionLength);
    problems.push(...check(`states.${key}`, plan, merged));
    states.set(value, merged);
  }
  const isAuto = policy.fallback.auto || [...states.values()].some(({ auto }) => auto);
  if (isAuto && sessionLength < SHORTEST_SESSION) {
    problems.push(
      `polling.sessionLength: ${formatDuration(sessionLength)} leaves no room for limits that are learned (stuckAfter: auto); make it at least ${formatDuration(SHORTEST_SESSION)}`,
    );
  }
  return { ...policy, states };
}

function riskProblems(where: string, { atRisk, sessionLength }: Pick<PollPolicy, 'atRisk' | 'sessionLength'>): string[] {
  if (atRisk === null || atRisk.before < sessionLength) return [];
  return [
    `${where}.atRisk.before: ${formatDuration(atRisk.before)} is not shorter than a session (polling.sessionLength: ${formatDuration(sessionLength)})`,
  ];
}

type SitePlans = { readonly name: string } & Pick<NonNullable<FileSettings['sites']>[string], 'states' | 'atRisk'>;

/** The policy with the plans of single sites in it: each merged over the plans of all sites. */
export function withSites(policy: PollPolicy, sites: readonly SitePlans[], problems: string[]): PollPolicy {
  const own = sites.flatMap(({ name, states = {}, atRisk = policy.atRisk }): [string, PollPolicy][] => {
    if (Object.keys(states).length === 0 && atRisk === policy.atRisk) return [];
    if (atRisk !== policy.atRisk) problems.push(...riskProblems(`sites.${name}`, { ...policy, atRisk }));
    const { default: rest, ...named } = states;
    const written = (key: string) => `sites.${name}.states.${key}`;
    const merged = (key: string, base: StatePolicy, plan: StatePlan): StatePolicy => {
      const state = merge(base, plan, policy.sessionLength);
      problems.push(...check(written(key), plan, state));
      return state;
    };
    const plans = Object.entries(named).map(([key, plan]): [number, StatePolicy] => {
      const value = stateValue(key)!;
      return [value, merged(key, policyOf(policy, value), plan)];
    });
    const fallback = rest === undefined ? policy.fallback : merged('default', policy.fallback, rest);
    return [[name, { ...policy, fallback, states: new Map([...policy.states, ...plans]), atRisk }]];
  });
  return own.length === 0 ? policy : { ...policy, bySite: new Map(own) };
}

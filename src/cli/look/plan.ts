/** `plan`: what the poll plan will do, before it does it. */

import { forecast, pollsToSee, pollsUntil } from '../../domain/polling/poll-forecast.ts';
import { type PollPolicy, policyOf } from '../../domain/polling/poll-plan.ts';
import { namedState, numberOf, STATE_NAMES, stateBoth, stateName, stateValue } from '../../domain/purchases/states.ts';
import { type ShownLimit, shownLimit } from '../../domain/stays/dwell.ts';
import { grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { DAY, HOUR, type Milliseconds } from '../../domain/values/time.ts';
import { durationArgument, JSON_OPTION, numberArgument } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import type { OpenDatabase } from '../terminal/database.ts';
import { printFacts, printJson, printLine, printText, styled } from '../terminal/output.ts';

/** Polls that are spelled out, before the plan is summed up. */
const LISTED = 10;
/** Where customers spend their time, and so the state whose plan stands for a whole checkout. */
const USUAL_STATE = numberOf('BeingProcessed');
const COMPLETED = numberOf('Completed');

export const register = declare(
  {
    description:
      'Shows for each state when a purchase will be polled, how often in all, and when it counts as stuck; for a given traffic also how many calls that makes beside the ceiling of each site.',
    arguments: [['[state]', 'only this state, by name or number']],
    options: [
      ['--purchases-per-hour <count>', 'reckon the calls of this many purchases', { read: numberArgument }],
      [
        '--settle-after <duration>',
        'time from registration until a purchase settles',
        { read: durationArgument, usual: durationArgument('3m'), shown: '3m' },
      ],
      JSON_OPTION,
    ],
    examples: [
      ['plan', 'all states'],
      ['plan WaitingForCardPayments', 'one state'],
      ['plan --purchases-per-hour 200 --settle-after 3m', 'the calls of a shop'],
    ],
  },
  async (context, { state, purchasesPerHour, settleAfter, json }) => {
    const [{ loadSettings }, { suggestion }] = await Promise.all([
      import('../../config/load-settings.ts'),
      import('../../config/kinds/nearest.ts'),
    ]);
    const { policy, sites } = loadSettings(context.env);
    const chosen = state === undefined ? null : stateArgument(state, suggestion);
    const values = chosen === null ? [...policy.states.keys()].sort((a, b) => a - b) : [chosen];
    const names = sites.map(({ name }) => name);
    const limits = await limitsAt(context, names);
    const states = values.map((value) => statePlan(policy, value, limits));
    const calls =
      purchasesPerHour === undefined
        ? null
        : traffic(policy, sites, { purchasesPerHour, settleAfter, value: chosen ?? USUAL_STATE });
    if (json) return printJson(context, { states, traffic: calls });

    if (calls !== null) printTraffic(context, calls);
    // Who asked for the calls of a traffic has the answer; the plans of all states would push it off the screen.
    if (calls !== null && chosen === null) return printLine(context, '\nThe plan of each state: purchase-watch plan');
    if (calls !== null) printLine(context);
    printPlans(context, states);
  },
);

/** `stuckAfterMs`: where it is learned, the limit until then. `learned`: limits of each site; null where none is learned, and without a database. */
function statePlan(policy: PollPolicy, value: number, learnedAt: LearnedAt | null) {
  const ofState = policyOf(policy, value);
  const state = namedState(value);
  if (ofState.final) return { state, final: true as const, rechecksMs: ofState.recheck };
  const stay = { policy: ofState, giveUpAfter: policy.giveUpAfter };
  const { polls, steady, stuckAt } = forecast(stay, LISTED);
  return {
    state,
    final: false as const,
    pollsMs: polls,
    steady: steady === null ? null : { fromMs: steady.from, everyMs: steady.every },
    stuckAfterMs: stuckAt,
    stuckAfterIsAuto: ofState.auto,
    learned: learnedAt === null || !ofState.auto ? null : learnedAt(value),
    counts: {
      firstHour: pollsUntil(stay, HOUR),
      firstDay: pollsUntil(stay, DAY),
      untilGivenUp: pollsUntil(stay, policy.giveUpAfter),
    },
    giveUpAfterMs: policy.giveUpAfter,
  };
}

type LearnedAt = (state: number) => (ShownLimit & { readonly site: string })[];
type Plan = ReturnType<typeof statePlan>;

/**
 * The calls that a steady stream of purchases causes. The model: the first poll is made at registration, all the time
 * until the purchase settles is one stay in one state, the first poll after that sees it, rechecks of Completed follow.
 */
function traffic(
  policy: PollPolicy,
  sites: readonly { readonly name: string; readonly maxRps: number }[],
  { purchasesPerHour, settleAfter, value }: { purchasesPerHour: number; settleAfter: Milliseconds; value: number },
) {
  const stay = { policy: policyOf(policy, value), giveUpAfter: policy.giveUpAfter };
  const callsPerPurchase = 1 + pollsToSee(stay, settleAfter) + policyOf(policy, COMPLETED).recheck.length;
  const callsPerHour = Math.round(callsPerPurchase * purchasesPerHour);
  const watchedAtOnce = Math.round((purchasesPerHour * settleAfter) / HOUR);
  return {
    purchasesPerHour,
    settleAfterMs: settleAfter,
    modelledAs: stateName(value),
    callsPerPurchase,
    callsPerHour,
    watchedAtOnce,
    sites: sites.map(({ name, maxRps }) => ({ site: name, maxRps, shareOfCeiling: callsPerHour / (maxRps * 3_600) })),
  };
}

/** Prints the plans, those that are alike once below the names of their states. */
function printPlans(context: CliContext, plans: readonly Plan[]): void {
  printText(
    context,
    'Times count from the first observation of the state. Each poll is moved by up to 10 %, so that purchases drift apart.',
  );
  const alike = Map.groupBy(plans, (each) => JSON.stringify(factsOf(each)));
  for (const [first, ...others] of [...alike.values()].sort(([a], [b]) => Number(a!.final) - Number(b!.final))) {
    printLine(context);
    printText(context, [first!, ...others].map(({ state }) => stateBoth(state.value)).join(', '), { style: 'bold' });
    printFacts(context, factsOf(first!));
  }
}

type Facts = Parameters<typeof printFacts>[1];

function factsOf(plan: Plan): Facts {
  if (plan.final) {
    const again = plan.rechecksMs.map(humanDuration).join(', ');
    return [['  final', again === '' ? 'no polls' : `polled again after ${again}`]];
  }
  const { stuckAfterMs, pollsMs, steady, counts, giveUpAfterMs } = plan;
  const from = steady?.fromMs === 0 ? 'from the start' : `once it has been there for ${humanDuration(steady?.fromMs ?? 0)}`;
  const givenUp = `${grouped(counts.untilGivenUp)} until it is given up after ${humanDuration(giveUpAfterMs)}`;
  return [
    ['  polls', `after ${pollsMs.map(humanDuration).join(', ')}${pollsMs.length === LISTED ? ' …' : ''}`],
    ['  then', steady === null ? null : `every ${humanDuration(steady.everyMs)}, ${from}`],
    ['  in all', `${grouped(counts.firstHour)} in the first hour, ${grouped(counts.firstDay)} in 24 h, ${givenUp}`],
    [
      '  stuck',
      stuckAfterMs === null ? 'never' : `after ${humanDuration(stuckAfterMs)}: a poll is made at that moment and confirms it`,
    ],
    ['', plan.stuckAfterIsAuto ? LEARNED : null],
    ...(plan.learned ?? []).map(({ site, text }) => ['', `${site}: ${text}`] as const),
  ];
}

const LEARNED = 'That limit is learned for each site from customers who got on (stuckAfter: auto); until it is, it is this one.';

function stateArgument(text: string, suggest: (given: string, known: readonly string[]) => string): number {
  const value = stateValue(text);
  if (value !== null) return value;
  throw new AppError('invalid', `${JSON.stringify(text)} is not a state name or number${suggest(text, STATE_NAMES)}`);
}

/**
 * Limits as they are learned now at these sites; null where there is no database, or none that can be read. A database also shows
 * whether a daemon polls by other settings.
 */
async function limitsAt(context: CliContext, sites: readonly string[]): Promise<LearnedAt | null> {
  const [{ withDatabase }, { learnedLimits }] = await Promise.all([
    import('../terminal/database.ts'),
    import('../../actions/flow/stay-limits.ts'),
  ]);
  try {
    const work = ({ sql, settings }: OpenDatabase) => learnedLimits(sql, settings.policy);
    const limits = await withDatabase(context, work, { restsOn: ['sites', 'polling'] });
    if (sites.length === 0) return null;
    return (state) =>
      sites.flatMap((site) => {
        const limit = shownLimit(limits.limitOf(site, state), null);
        return limit === null ? [] : [{ site, ...limit }];
      });
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

function printTraffic(context: CliContext, calls: ReturnType<typeof traffic>): void {
  const { purchasesPerHour, settleAfterMs, modelledAs, callsPerPurchase, callsPerHour, watchedAtOnce, sites } = calls;
  const perSecond = (callsPerHour / 3_600).toFixed(callsPerHour < 36_000 ? 2 : 0);
  printLine(
    context,
    styled(context, 'bold', `${grouped(purchasesPerHour)} purchases an hour, each settled after ${humanDuration(settleAfterMs)}`),
  );
  printFacts(context, [
    ['  calls', `${callsPerPurchase} for a purchase, ${grouped(callsPerHour)} an hour (${perSecond} a second)`],
    ['  open', `about ${grouped(watchedAtOnce)} at any moment`],
    ...sites.map((each) => ['  share', ...shareText(each)] as const),
    ['  share', sites.length === 0 ? 'there is no site yet to compare with' : null],
    [
      '  model',
      `one call at registration, then one stay in the state ${stateBoth(stateValue(modelledAs) ?? 0)} until the purchase settles; the first poll after that sees it, and the rechecks of completed purchases follow. Changes of state in between start a plan again: some calls more.`,
    ],
  ]);
}

function shareText({ site, maxRps, shareOfCeiling }: ReturnType<typeof traffic>['sites'][number]): [text: string, style?: 'red'] {
  const share = `${(shareOfCeiling * 100).toFixed(shareOfCeiling < 0.1 ? 1 : 0)} % of the ceiling of site ${site} (${maxRps} calls a second)`;
  return shareOfCeiling > 1 ? [`${share}: too much, polls will be late`, 'red'] : [share];
}

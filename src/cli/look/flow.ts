/** `flow`: how purchases went from state to state in the last hour, and how long they wait in each. */

import { type Flow, readFlow } from '../../actions/flow/flow.ts';
import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { besideWords, stateBoth, statePlace, stateWords } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { SECOND } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson, printLine, printText, styled } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

export const register = onDatabase(
  {
    description:
      'The changes of state of the last hour beside what is usual at this time of day; for each state how many purchases are there, are stuck and came, the usual time and the limit; how long purchases have waited; open incidents.',
    options: [
      ['--site <name>', 'only this site'],
      ['--json', 'write JSON, as GET /v1/flow answers'],
    ],
    examples: [
      ['flow', 'of all sites'],
      ['flow --site se', 'of one'],
      ["flow --json | jq '.states[] | select(.stuck > 0)'", 'for programs'],
    ],
    restsOn: ['polling'],
  },
  async (context, { site, json }, { sql, settings }) => {
    await requireSite(sql, site);
    const found = await readFlow(sql, { site: site ?? null, limits: await learnedLimits(sql, settings.policy) });
    if (json) return printJson(context, found);
    printEdges(context, found);
    printStates(context, found);
    printWaiting(context, found);
    printIncidents(context, found);
    printNames(context, found);
  },
);

function printEdges(context: CliContext, { site, from, to, usualDays, edges }: Flow): void {
  const where = site === null ? 'all sites' : `site ${site}`;
  printLine(context, `Changes of state from ${from.slice(0, 10)} ${from.slice(11, 16)} to ${to.slice(11, 16)} UTC, ${where}`);
  printText(
    context,
    usualDays === null
      ? 'What is usual at this time of day is not known before three days have been counted.'
      : `usual: the mean of the same minutes on ${usualDays} of the last 14 days, weekends too`,
  );
  printLine(context);
  if (edges.length === 0) return void printLine(context, 'No purchase changed its state.');
  printTable(context, edges, {
    from: (edge) => (edge.from === null ? 'first seen' : stateWords(edge.from.value)),
    to: (edge) => stateWords(edge.to.value),
    count: ({ count }) => count,
    usual: ({ usual }) => (usual === null ? '-' : Math.round(usual * 10) / 10),
  });
}

/** The states with their counts; `moment`: whether these are of now or of a past time. */
export function printStates(context: CliContext, { states, notSeenYet }: Flow, moment: 'now' | 'then' = 'now'): void {
  if (states.length > 0) {
    printLine(context);
    printTable(context, states, {
      state: ({ state }) => stateWords(state.value),
      [moment]: ({ watching }) => watching,
      stuck: ({ stuck }) => stuck,
      came: ({ came }) => came,
      usual: ({ usual }) => (usual === null ? '' : humanDuration(usual.usualMs)),
      limit: (each) => (each.final ? 'final' : limitText(each)),
    });
  }
  if (notSeenYet > 0) printLine(context, `\nNot seen yet: ${notSeenYet}`);
}

type FlowState = Flow['states'][number];

function limitText({ limits }: FlowState): string {
  const [first, ...others] = new Set(limits.map(({ limit }) => limit.limitMs));
  return first === undefined ? 'none' : others.length === 0 ? humanDuration(first) : 'by site';
}

/** States whose purchases wait; the counts of those that wait long are least numbers where not all purchases were read. */
function printWaiting(context: CliContext, { states }: Flow): void {
  const rows = states.flatMap(({ state, usual, limits, ages }) => {
    const [longest] = ages?.oldest ?? [];
    if (ages === null || longest === undefined) return [];
    const past = (share: number) => (limits.length === 0 ? '' : pastText(ages, share));
    return [{ state, usual, longest, past }];
  });
  if (rows.length === 0) return;
  printLine(context);
  printTable(context, rows, {
    state: ({ state }) => stateWords(state.value),
    longest: ({ longest }) => humanDuration(Math.floor(longest.ageMs / SECOND) * SECOND),
    '95 % under': ({ usual }) => (usual === null ? '' : humanDuration(usual.p95Ms)),
    'past half': ({ past }) => past(0.5),
    'past limit': ({ past }) => past(1),
  });
}

function pastText({ oldest, buckets, unread }: NonNullable<FlowState['ages']>, share: number): string {
  const isPast = (value: number | null): boolean => value !== null && value >= share;
  const count =
    buckets === null
      ? oldest.filter((each) => isPast(each.share)).length
      : buckets.reduce((sum, bucket) => sum + (isPast(bucket.from) ? bucket.count : 0), 0);
  return `${count}${unread > 0 ? '+' : ''}`;
}

function printIncidents(context: CliContext, { at, states }: Flow): void {
  const open = states.flatMap(({ state, incidents }) => incidents.map((incident) => ({ state, ...incident })));
  if (open.length > 0) printLine(context);
  for (const { state, id, site, severity, since } of open) {
    const text = `incident ${id}, ${severity}, since ${relative(Date.parse(since), Date.parse(at))}`;
    printLine(context, severity === 'critical' ? styled(context, 'red', text) : text);
    printLine(context, `  at ${site} ${statePlace(state.value)}`);
  }
}

/** The names that options take; in the tables there is no room for them. */
function printNames(context: CliContext, { states, edges }: Flow): void {
  const shown = [...states.map(({ state }) => state), ...edges.flatMap(({ from, to }) => [from ?? to, to])];
  const named = [...new Set(shown.map(({ value }) => value))].filter((value) => besideWords(value) !== null);
  if (named.length === 0) return;
  printLine(context);
  printText(context, `Names of these states: ${named.map(stateBoth).join(', ')}`);
}

/** `trends`: how customers' checkouts ended over days, beside the time before. */

import { InvalidArgumentError } from 'commander';
import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { readTrends, type Trends } from '../../actions/trends/trends.ts';
import { stateBoth, stateWords } from '../../domain/purchases/states.ts';
import { TREND_RANGES } from '../../domain/trends/period.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isZone } from '../../runtime/loops/schedule.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson, printLine, printText } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

/** The zone's name, if there is such a zone. */
function zoneArgument(name: string): string {
  if (isZone(name)) return name;
  throw new InvalidArgumentError('There is no such zone; give a name such as Europe/Stockholm.');
}

export const register = onDatabase(
  {
    description:
      'How many customers paid over whole days, beside the time before; where the others were lost, by the state in which they waited last; how long they waited; money by currency; attempts of deliveries; marks.',
    options: [
      ['--range <range>', 'whole days up to today; of 24h, whole hours', { choices: TREND_RANGES, usual: '7d' }],
      ['--site <name>', 'only this site'],
      ['--zone <name>', 'the zone in which days begin, such as Europe/Stockholm', { read: zoneArgument, usual: 'UTC' }],
      ['--json', 'write JSON, as GET /v1/trends answers'],
    ],
    examples: [
      ['trends', 'the last seven days of all sites'],
      ['trends --range 30d --site se --zone Europe/Stockholm', 'of one site, by its clocks'],
      ['trends --json | jq -r .sentence', 'one sentence to forward'],
    ],
    restsOn: ['polling'],
  },
  async (context, { range, site, zone, json }, { sql, settings }) => {
    await requireSite(sql, site);
    const limits = await learnedLimits(sql, settings.policy);
    const found = await readTrends(sql, { range, site: site ?? null, zone, limits });
    if (json) return printJson(context, found);
    printLine(
      context,
      `${found.from.slice(0, 16)} to ${found.to.slice(0, 16)} UTC, beside ${found.against.from.slice(0, 16)} to ${found.against.to.slice(0, 16)}`,
    );
    printText(context, found.sentence);
    printCountedSince(context, found);
    printWorse(context, found);
    printWays(context, found);
    printRest(context, found);
    printHappened(context, found);
  },
);

const percent = (share: number | null): string => (share === null ? 'too few' : `${Math.round(share * 1_000) / 10} %`);
const CHANGES = { too_few: '', as_before: 'as before', better: 'more than before', worse: 'fewer than before' } as const;

function printCountedSince(context: CliContext, { countedSince }: Trends): void {
  if (countedSince !== null)
    printText(context, `counted since ${countedSince.slice(0, 16)} UTC: nothing is known of the time before`);
}

function printWorse(context: CliContext, { worse, total }: Trends): void {
  if (total.customers === 0) return;
  printLine(context);
  printText(context, worse.words);
  for (const { where, words, customers, notPaid } of worse.slices)
    printText(context, `${where}: ${words}; ${counted(customers, 'customer')} came, ${grouped(notPaid)} did not pay.`);
}

function printWays(context: CliContext, { ways }: Trends): void {
  if (ways.length === 0) return;
  printLine(context);
  printTable(context, ways, {
    'waited last': ({ state }) => (state === null ? 'no state seen' : stateWords(state.value)),
    customers: ({ customers }) => customers,
    paid: ({ paid }) => paid,
    'by another': ({ paidByAnother }) => paidByAnother,
    'not paid': ({ notPaid }) => notPaid,
    open: ({ open }) => open,
    share: ({ share }) => percent(share),
    before: ({ before }) => percent(before.share),
    change: ({ change }) => CHANGES[change],
  });
}

function printRest(context: CliContext, { waiting, money, receivers, marks }: Trends): void {
  if (waiting !== null) {
    printLine(context);
    printText(context, `${stateBoth(waiting.state.value)} at ${waiting.site}; stuck from ${humanDuration(waiting.limitMs)} on`);
    const under = (ms: number | null): string => (ms === null ? 'too few' : humanDuration(ms));
    printTable(context, waiting.pieces, {
      'from, UTC': ({ from }) => from.slice(0, 16),
      customers: ({ customers }) => customers,
      'half waited under': ({ medianMs }) => under(medianMs),
      '95 % under': ({ p95Ms }) => under(p95Ms),
    });
  }
  if (money.length > 0) {
    printLine(context);
    printTable(context, money, {
      currency: ({ currency }) => currency,
      customers: ({ customers }) => customers,
      paid: ({ paid }) => paid.rawJSON,
      'not paid': ({ notPaid }) => notPaid.rawJSON,
      open: ({ open }) => open.rawJSON,
      'stuck, then paid': ({ stuck }) => stuck.paid.rawJSON,
      'stuck, not paid': ({ stuck }) => stuck.notPaid.rawJSON,
    });
  }
  if (receivers.length > 0) {
    printLine(context);
    printTable(context, receivers, {
      subscriber: ({ subscriber }) => subscriber,
      attempts: ({ attempts }) => attempts,
      failed: ({ failed }) => failed,
      'half answered within': ({ medianMs }) => (medianMs === null ? '-' : humanDuration(medianMs)),
      '95 % within': ({ p95Ms }) => (p95Ms === null ? '-' : humanDuration(p95Ms)),
    });
  }
  if (marks.length > 0) {
    printLine(context);
    printTable(context, marks, { 'marked at': ({ at }) => at, site: ({ site }) => site ?? 'all', text: ({ text }) => text });
  }
}

function printHappened(context: CliContext, { incidents, silences, listedSince }: Trends): void {
  if (incidents.length + silences.length === 0) return;
  const where = ({ site, state }: { site: string | null; state: { value: number } | null }): string =>
    [site, state === null ? null : stateWords(state.value)].filter((part) => part !== null).join(', ');
  const happened = [
    ...incidents.map((each) => ({
      from: each.since,
      to: each.endedAt,
      what: `incident ${each.id}`,
      where: where(each) || 'several sites',
    })),
    ...silences.map((each) => ({
      from: each.startsAt,
      to: each.endsAt,
      what: `silence ${each.id}`,
      where: where(each) || 'all sites',
    })),
  ];
  printLine(context);
  printTable(
    context,
    happened.sort((a, b) => a.from.localeCompare(b.from)),
    {
      'from, UTC': ({ from }) => from.slice(0, 16),
      to: ({ to }) => to?.slice(0, 16) ?? 'open',
      what: ({ what }) => what,
      where: (each) => each.where,
    },
  );
  if (listedSince !== null) printLine(context, `there are more: what began before ${listedSince.slice(0, 16)} may be left out`);
}

/** `purchases`: lists purchases, and does something to all that a filter lets through. */

import { readClock, type Sql } from '../../actions/database.ts';
import { purchaseBody } from '../../actions/purchases/body.ts';
import {
  cursorAt,
  listPurchases,
  OUTCOMES,
  type PurchaseFilter,
  purchasesAsCsv,
  readCursor,
  SORTS,
  type Sort,
} from '../../actions/purchases/list.ts';
import { actOnMany, MANY_ACTS, type ManyAct, type ManyResult, namesOfMatching } from '../../actions/purchases/many.ts';
import { faultsOf, inOneSentence, strict } from '../../api/http/invalid.ts';
import { Problem } from '../../api/http/problems.ts';
import { listParameters, wantedList } from '../../api/purchases/list.ts';
import { PURCHASE_STATUSES } from '../../domain/purchases/purchase.ts';
import { LISTED_ENDS } from '../../domain/trends/ends.ts';
import { apart } from '../../domain/values/counts.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import { JSON_OPTION, limitOption } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import { confirm } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, isTaken, printJson, printLine, printText, textOf } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';

interface Wanted {
  readonly filter: PurchaseFilter;
  readonly sort: Sort;
}

export const register = declare(
  {
    description:
      'Lists purchases, the latest registration first. All options given must hold. With --act, does something to all that they let through, and first says what would come of it. Reads the database.',
    arguments: [['[text]', 'how the Purchase ID, the reference or the order reference begins, in any case']],
    options: [
      ['--site <name>', 'of one site'],
      ['--outcome <outcome>', 'what they have come to', { choices: OUTCOMES }],
      ['--status <status>', 'how they are polled', { choices: PURCHASE_STATUSES }],
      ['--state <state>', 'a state by name or number'],
      ['--reference <text>', 'this reference, as a whole'],
      ['--from <moment>', 'registered since: a duration back such as 2h, or a time with its zone'],
      ['--to <moment>', 'registered before'],
      ['--ended-from <moment>', 'ended since, by the hour, as trends count it'],
      ['--ended-to <moment>', 'ended before'],
      ['--ended-weekday <number>', 'ended on this weekday, 1 is Monday; needs --ended-from', { choices: [...'1234567'] }],
      ['--ended-hours <hours>', 'ended in this hour of the day such as 14, or in several such as 12-14; needs --ended-from'],
      ['--zone <name>', 'whose clocks --ended-weekday and --ended-hours go by, such as Europe/Stockholm (UTC unless given)'],
      ['--end <end>', 'as what they are counted in trends', { choices: Object.keys(LISTED_ENDS) }],
      ['--last-waited <state>', 'waited last in this state before they ended; none: no poll showed one'],
      ['--was-stuck <flag>', 'whether they were stuck before they ended', { choices: ['true', 'false'] }],
      ['--least <amount>', 'with this price or more; needs --currency'],
      ['--most <amount>', 'with this price or less; needs --currency'],
      ['--currency <code>', 'a currency as the service writes it, such as SEK'],
      ['--sort <sort>', 'in which order; by price it needs --currency', { choices: SORTS }],
      limitOption(),
      ['--cursor <cursor>', 'go on after this page'],
      ['--act <act>', 'poll them now, announce the last event of each again, or stop polling them', { choices: MANY_ACTS }],
      ['--dry-run', 'with --act: only say what would be done'],
      ['--yes', 'with --act: do not ask'],
      ['--csv', 'write the whole list as CSV', { conflicts: ['json', 'act'] }],
      JSON_OPTION,
    ],
    examples: [
      ['purchases ORD-10', 'whose order begins so'],
      ['purchases --outcome stuck --sort waiting', 'who waits longest'],
      ['purchases --site shop-se --from 24h --currency SEK --sort largest', 'the largest of a day'],
      ['purchases --outcome not_paid --from 7d --csv > not-paid.csv', 'for a spreadsheet'],
      ['purchases --outcome stuck --act poll --dry-run', 'what polling them would do'],
    ],
  },
  async (context, { text: q, limit, cursor, act, dryRun, yes, csv, json, ...given }) => {
    if (act === undefined && (dryRun || yes)) throw new AppError('invalid', `--${yes ? 'yes' : 'dry-run'}: only with --act`);
    const query = strict(listParameters).safeParse({ ...given, ...(q !== undefined && { q }) });
    if (!query.success) throw new AppError('invalid', `--${inOneSentence(faultsOf(query.error, { ...given, q }).errors)}`);
    await withDatabase(context, async ({ sql }) => {
      const wanted = await wantedList(sql, query.data).catch((error: unknown) => {
        throw error instanceof Problem ? new AppError('invalid', `--${error.message}`) : error;
      });
      if (act !== undefined) return doIt(context, sql, wanted.filter, { act, dryRun, yes, json });
      if (!csv) return printList(context, sql, wanted, { limit, cursor, json });
      for await (const lines of purchasesAsCsv(sql, wanted)) if (!(await isTaken(context, lines))) return;
    });
  },
);

async function printList(
  context: CliContext,
  sql: Sql,
  wanted: Wanted,
  { limit, cursor, json }: { limit: number; cursor: string | undefined; json: boolean },
): Promise<void> {
  const after = cursor === undefined ? null : checked('--cursor', readCursor(cursor, wanted.filter, wanted.sort));
  const { rows, next } = await listPurchases(sql, { ...wanted, after, limit });
  const nextCursor = next === null ? null : cursorAt(next);
  if (json) return printJson(context, { data: rows.map(purchaseBody), nextCursor });
  const { now } = await readClock(sql);
  const found = rows.map((row) => ({ row, body: purchaseBody(row) }));
  if (rows.length === 0) printLine(context, next === null ? 'No purchase is like that.' : 'None so far.');
  else
    printTable(
      context,
      found,
      {
        purchase: ({ row }) => row.purchaseId,
        order: ({ body }) => (body.orderReference === null ? body.reference : textOf(body.orderReference)),
        site: ({ row }) => row.site,
        outcome: ({ body }) => body.outcome.replaceAll('_', ' '),
        state: ({ body }) => body.state?.name ?? null,
        for: ({ row }) => (row.stateSince === null ? null : relative(row.stateSince, now)),
        amount: ({ body: { price, currency } }) =>
          price === null ? null : `${apart(textOf(price))}${currency === null ? '' : ` ${textOf(currency)}`}`,
        registered: ({ row }) => relative(row.registeredAt, now),
      },
      { whole: ['order'] },
    );
  if (nextCursor === null) return;
  const rest = rows.length < limit ? 'Not all were looked at' : 'There are more';
  printLine(context, `\n${rest}: --cursor ${nextCursor}`);
}

async function doIt(
  context: CliContext,
  sql: Sql,
  filter: PurchaseFilter,
  { act, dryRun, yes, json }: { act: ManyAct; dryRun: boolean; yes: boolean; json: boolean },
): Promise<void> {
  const { names } = await namesOfMatching(sql, filter, Number.POSITIVE_INFINITY);
  const plan = await actOnMany(sql, names, { act, dryRun: true });
  if (!json) printResult(context, plan);
  const isDone = dryRun || plan.count === 0;
  const question = `${QUESTIONS[act]} ${plan.count}?`;
  const otherwise = `this needs a yes: say --yes to do it, or --dry-run to see what would be done`;
  if (!isDone && !yes) await confirm(context, { question, otherwise, refused: 'nothing was done', json });
  const done = isDone ? plan : await actOnMany(sql, names, { act, dryRun: false });
  if (!isDone) await recordCommand(sql, 'purchases', { act, count: done.count });
  if (json) return printJson(context, done);
  printLine(context, isDone ? `Nothing was done${dryRun ? ' (--dry-run)' : ''}.` : `${DONE[act](done.count)}.`);
}

const QUESTIONS: Readonly<Record<ManyAct, string>> = {
  poll: 'Poll these',
  announce: 'Send these deliveries again, all',
  stop: 'Stop polling these',
};

const DONE: Readonly<Record<ManyAct, (count: number) => string>> = {
  poll: (count) => `${counted(count, 'purchase is', 'purchases are')} polled in a moment`,
  announce: (count) => `${counted(count, 'delivery is', 'deliveries are')} scheduled`,
  stop: (count) => `Stopped ${counted(count, 'purchase')}; what is known of them stays`,
};

function printResult(context: CliContext, { act, purchases, count, leftAlone, deliveries, sites }: ManyResult): void {
  printLine(
    context,
    `${counted(purchases, 'purchase')}; ${act === 'announce' ? counted(count, 'delivery', 'deliveries') : count} to ${act}.`,
  );
  if (leftAlone > 0)
    printLine(context, `${counted(leftAlone, 'purchase')} left alone: ${act === 'poll' ? 'stopped' : 'not polled any more'}.`);
  for (const each of deliveries)
    printText(
      context,
      `${each.subscriber}: ${each.count}${each.waits === null ? ', sent at once' : `. They would wait: ${each.waits}`}`,
    );
  for (const each of sites) printText(context, `${each.site}: ${each.count}. ${each.waits}`);
}

/** `purchases`: lists purchases, and does something to all that a filter lets through. */
import { type Command, Option } from 'commander';
import { cursorAt, OUTCOMES, purchasesAsCsv, readCursor, SORTS } from '../../actions/purchases/list.ts';
import { actOnMany, MANY_ACTS, type ManyAct, type ManyResult, namesOfMatching } from '../../actions/purchases/many.ts';
import { faultsOf, inOneSentence, strict } from '../../api/http/invalid.ts';
import { Problem } from '../../api/http/problems.ts';
import { listParameters, wantedList } from '../../api/purchases/list.ts';
import { purchaseBody } from '../../api/purchases/purchase-body.ts';
import { PURCHASE_STATUSES } from '../../domain/purchases/purchase.ts';
import { apart } from '../../domain/values/counts.ts';
import { AppError } from '../../domain/values/errors.ts';
import { isDecimal, type JsonValue } from '../../domain/values/exact-json.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { listPurchases, type Sort } from '../../postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../postgres/purchases/list-filter.ts';
import { checked } from '../subscribers/subscriber-options.ts';
import { examples, limitOption } from '../terminal/arguments.ts';
import { confirmed } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printText } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';

type Names = keyof typeof listParameters;

interface PurchasesOptions extends Partial<Record<Exclude<Names, 'stuck' | 'q'>, string>> {
  readonly limit: number;
  readonly cursor?: string;
  readonly act?: ManyAct;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly csv?: true;
  readonly json?: true;
}

interface Wanted {
  readonly filter: PurchaseFilter;
  readonly sort: Sort;
}

async function run(context: CliContext, q: string | undefined, options: PurchasesOptions): Promise<void> {
  const { limit, cursor, act, dryRun, yes, csv, json, ...given } = options;
  if (act === undefined && (dryRun || yes)) throw new AppError('invalid', `--${yes ? 'yes' : 'dry-run'}: only with --act`);
  const query = strict(listParameters).safeParse({ ...given, ...(q !== undefined && { q }) });
  if (!query.success) throw new AppError('invalid', `--${inOneSentence(faultsOf(query.error, { ...given, q }).errors)}`);
  await withDatabase(context, async ({ sql }) => {
    const wanted = await wantedList(sql, query.data).catch((error: unknown) => {
      throw error instanceof Problem ? new AppError('invalid', `--${error.message}`) : error;
    });
    if (act !== undefined)
      return doIt(context, sql, wanted.filter, { act, dryRun: dryRun === true, yes: yes === true, json: json === true });
    if (csv) return printCsv(context, sql, wanted);
    await printList(context, sql, wanted, options);
  });
}

async function printList(
  context: CliContext,
  sql: Sql,
  wanted: Wanted,
  { limit, cursor, json }: PurchasesOptions,
): Promise<void> {
  const after = cursor === undefined ? null : checked('--cursor', readCursor(cursor, wanted.filter, wanted.sort));
  const { rows, next } = await listPurchases(sql, { ...wanted, after, limit });
  const nextCursor = next === null ? null : cursorAt(next);
  if (json) return printJson(context, { data: rows.map(purchaseBody), nextCursor });
  const { now } = await readClock(sql);
  if (rows.length > 0) {
    printTable(
      context,
      ['purchase', 'order', 'site', 'outcome', 'state', 'for', 'amount', 'registered'],
      rows.map((row) => {
        const { reference, orderReference, outcome, state, price, currency } = purchaseBody(row);
        const order = orderReference === null ? reference : textOf(orderReference);
        const amount = price === null ? null : `${apart(textOf(price))}${currency === null ? '' : ` ${textOf(currency)}`}`;
        const since = row.stateSince === null ? null : relative(row.stateSince, now);
        return [
          row.purchaseId,
          order,
          row.site,
          outcome.replaceAll('_', ' '),
          state?.name ?? null,
          since,
          amount,
          relative(row.registeredAt, now),
        ];
      }),
      { whole: ['order'] },
    );
  } else printLine(context, next === null ? 'No purchase is like that.' : 'None so far.');
  if (nextCursor === null) return;
  const rest = rows.length < limit ? 'Not all were looked at' : 'There are more';
  printLine(context, `\n${rest}: --cursor ${nextCursor}`);
}

function textOf(value: JsonValue): string {
  return isDecimal(value) ? value.rawJSON : typeof value === 'string' ? value : JSON.stringify(value);
}

/** The next page is read when the reader of the output has taken this one; one that has seen enough ends the command. */
async function printCsv({ stdout }: CliContext, sql: Sql, wanted: Wanted): Promise<void> {
  for await (const lines of purchasesAsCsv(sql, wanted)) {
    const isTaken = await new Promise<boolean>((resolve) => stdout.write(lines, (error) => resolve(error == null)));
    if (!isTaken) return;
  }
}

interface Doing {
  readonly act: ManyAct;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

async function doIt(context: CliContext, sql: Sql, filter: PurchaseFilter, { act, dryRun, yes, json }: Doing): Promise<void> {
  const { names } = await namesOfMatching(sql, filter, Number.POSITIVE_INFINITY);
  const plan = await actOnMany(sql, names, { act, dryRun: true });
  if (!json) printResult(context, plan);
  const isDone = dryRun || plan.count === 0;
  const question = `${QUESTIONS[act]} ${plan.count}?`;
  const otherwise = `this needs a yes: say --yes to do it, or --dry-run to see what would be done`;
  if (!isDone && !yes && !(await confirmed(context, { question, otherwise, forPrograms: json })))
    throw new AppError('conflict', 'nothing was done');
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

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Lists purchases, the latest registration first. All options given must hold. With --act, does something to all that they let through, and first says what would come of it. Reads the database.',
    )
    .argument('[text]', 'how the Purchase ID, the reference or the order reference begins, in any case')
    .option('--site <name>', 'of one site')
    .addOption(new Option('--outcome <outcome>', 'what they have come to').choices(OUTCOMES))
    .addOption(new Option('--status <status>', 'how they are polled').choices(PURCHASE_STATUSES))
    .option('--state <state>', 'a state by name or number')
    .option('--reference <text>', 'this reference, as a whole')
    .option('--from <moment>', 'registered since: a duration back such as 2h, or a time with its zone')
    .option('--to <moment>', 'registered before')
    .option('--least <amount>', 'with this price or more; needs --currency')
    .option('--most <amount>', 'with this price or less; needs --currency')
    .option('--currency <code>', 'a currency as the service writes it, such as SEK')
    .addOption(new Option('--sort <sort>', 'in which order; by price it needs --currency').choices(SORTS))
    .addOption(limitOption())
    .option('--cursor <cursor>', 'go on after this page')
    .addOption(
      new Option('--act <act>', 'poll them now, announce the last event of each again, or stop polling them').choices(MANY_ACTS),
    )
    .option('--dry-run', 'with --act: only say what would be done')
    .option('--yes', 'with --act: do not ask')
    .addOption(new Option('--csv', 'write the whole list as CSV').conflicts(['json', 'act']))
    .option('--json', 'write JSON')
    .action((text: string | undefined, options: PurchasesOptions) => run(context, text, options));
  examples(command, [
    ['purchases ORD-10', 'whose order begins so'],
    ['purchases --outcome stuck --sort waiting', 'who waits longest'],
    ['purchases --site shop-se --from 24h --currency SEK --sort largest', 'the largest of a day'],
    ['purchases --outcome not_paid --from 7d --csv > not-paid.csv', 'for a spreadsheet'],
    ['purchases --outcome stuck --act poll --dry-run', 'what polling them would do'],
  ]);
}

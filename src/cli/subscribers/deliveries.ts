/** `deliveries`: what was sent to whom, and sending one again. */

import { type Command, Option } from 'commander';
import { rowIdOf } from '../../actions/row-ids.ts';
import { deliveryBody, deliveryDetails } from '../../actions/subscribers/body.ts';
import { deliveryName } from '../../actions/subscribers/names.ts';
import { Refused } from '../../actions/subscribers/refused.ts';
import { sendAgain } from '../../actions/subscribers/replay.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { unreachableReason } from '../../actions/subscribers/subscribers.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { DELIVERY_STATUSES, NOT_DELIVERED } from '../../domain/deliveries/delivery-status.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type DeliveryFilter, type DeliveryRow, findDelivery, listDeliveries } from '../../postgres/deliveries/delivery-list.ts';
import { isSubscriberKnown, subscriberNames } from '../../postgres/reports/explain.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { findSubscriber } from '../../postgres/subscribers/subscribers.ts';
import { examples, limitOption, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { type OpenDatabase, withDatabase } from '../terminal/database.ts';
import { printFacts, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';
import { type RetryAllOptions, retryAll } from './retry-all.ts';

interface JsonOption {
  readonly json?: true;
}
interface ListOptions extends JsonOption, DeliveryFilter {
  readonly limit: number;
  readonly cursor?: number;
}

async function list(context: CliContext, { json, limit, cursor, ...filter }: ListOptions): Promise<void> {
  if (filter.site !== undefined && filter.purchase === undefined) {
    throw new AppError('invalid', '--site: says which purchase is meant, so it needs --purchase');
  }
  await withDatabase(context, async ({ sql }) => {
    const rows = await listDeliveries(sql, { filter, before: cursor ?? null, limit: limit + 1 });
    const page = rows.slice(0, limit);
    const next = rows.length > limit ? deliveryName(page.at(-1)!.id) : null;
    if (page.length === 0 && filter.subscriber !== undefined) await requireKnown(sql, filter.subscriber);
    if (json) return printJson(context, { data: page.map(deliveryBody), nextCursor: next });
    if (page.length === 0) return void printLine(context, 'No deliveries.');
    const now = await databaseNow(sql);
    printTable(
      context,
      ['delivery', 'subscriber', 'event', 'purchase', 'status', 'tries', 'when', 'trouble'],
      page.map((row) => [
        deliveryName(row.id),
        row.subscriber,
        row.type,
        row.purchaseId ?? '-',
        row.status,
        row.attempts,
        when(row, now),
        row.reason ?? row.lastError ?? '',
      ]),
    );
    if (next !== null) printLine(context, `\nThere are more: --cursor ${next}`);
  });
}

/** A name that was mistyped brings nothing, and is not to be taken for one with nothing to show. */
async function requireKnown(sql: Sql, name: string): Promise<void> {
  if (await isSubscriberKnown(sql, name)) return;
  const hint = suggestion(name, await subscriberNames(sql));
  throw new AppError('not_found', `there is no subscriber ${JSON.stringify(name)}${hint}`);
}

type Timed = Pick<DeliveryRow, 'status' | 'settledAt' | 'dueAt' | 'parkedUntil'>;

function when({ status, settledAt, dueAt, parkedUntil }: Timed, now: Instant): string {
  if (settledAt !== null) return relative(settledAt, now);
  if (status === 'in_flight') return 'now';
  if (status === 'parked')
    return parkedUntil === null ? 'once it gets events again' : `after the pause, ${relative(parkedUntil, now)}`;
  return dueAt <= now ? `due since ${relative(dueAt, now).replace(/ ago$/, '')}` : `next ${relative(dueAt, now)}`;
}

async function show(context: CliContext, id: number, { json }: JsonOption): Promise<void> {
  await withDatabase(context, async ({ sql, settings }) => {
    const row = await findDelivery(sql, id);
    if (row === null) throw new AppError('not_found', `there is no delivery ${deliveryName(id)}`);
    if (json) return printJson(context, deliveryDetails(row));
    const now = await databaseNow(sql);
    const reason = row.reason ?? (row.settledAt === null ? await unreadable({ sql, settings }, row.subscriber) : null);
    printFacts(context, [
      ['delivery', deliveryName(row.id)],
      ['subscriber', row.subscriber],
      ['event', `${row.eventId}, ${row.type}`],
      ['purchase', row.purchaseId === null ? null : `${row.purchaseId} at site ${row.site}, its event ${row.sequence}`],
      [
        'status',
        `${row.status}, ${when(row, now)}${row.replayed && row.settledAt === null ? ', replayed: after all that is new' : ''}`,
      ],
      ['reason', reason, 'yellow'],
      ['trouble', row.lastError, 'red'],
    ]);
    if (row.tries.length === 0) return void printLine(context, '\nNo attempt was made yet.');
    printLine(context);
    printTable(
      context,
      ['#', 'when', 'outcome', 'fault', 'status', 'took ms', 'answer'],
      row.tries.map(({ number, at, outcome, fault, httpStatus, tookMs, excerpt }) => [
        number,
        relative(at, now),
        outcome,
        fault ?? '',
        httpStatus,
        tookMs,
        (excerpt ?? '').slice(0, 80),
      ]),
    );
    if (row.answer === null) return;
    printLine(context, `\nThe whole answer to attempt ${row.answer.number}:\n`);
    for (const line of row.answer.text.split('\n')) printLine(context, line);
  });
}

/** Why its subscriber cannot be sent anything, by the settings of this process, or null. */
async function unreadable({ sql, settings }: Pick<OpenDatabase, 'sql' | 'settings'>, name: string): Promise<string | null> {
  const subscriber = await findSubscriber(sql, name);
  const secrets = secretsOf(settings);
  // Without a key in this shell nothing is known of the daemons' one.
  return subscriber === null || secrets === null ? null : unreachableReason({ secrets }, subscriber);
}

async function retry(
  context: CliContext,
  ids: readonly number[],
  { json, ...all }: JsonOption & Partial<RetryAllOptions>,
): Promise<void> {
  const { subscriber } = all;
  if ((subscriber === undefined) === (ids.length === 0))
    throw new AppError('invalid', 'name the deliveries by their ids, or all of one subscriber with --subscriber, not both');
  if (subscriber !== undefined) {
    return retryAll(context, { ...all, subscriber, ...(json && { json }) });
  }
  const stray = Object.keys(all)[0];
  if (stray !== undefined) throw new AppError('invalid', `--${stray === 'dryRun' ? 'dry-run' : stray}: only with --subscriber`);
  await withDatabase(context, async (database) => {
    const { again, refused } = await sendEachAgain(database, ids);
    if (json) {
      const retried = again.map(({ id }) => id);
      printJson(context, { retried, deliveries: again, ...(refused.length > 0 && { refused }) });
    } else {
      for (const { id, note } of again)
        printLine(context, `${id}: ${note === null ? 'scheduled; the running daemon sends it now' : `due again. ${note}`}`);
    }
    if (refused.length === 0) return;
    const problems = refused.map(({ id, detail }) => (detail.includes(id) ? detail : `${id}: ${detail}`));
    throw new AppError('not_found', problems.join('; '));
  });
}

/** Has each delivery sent again; one that cannot be sent does not keep the others back. */
async function sendEachAgain({ sql, settings }: OpenDatabase, ids: readonly number[]) {
  const again: { id: string; status: string; note: string | null }[] = [];
  const refused: { id: string; code: string; detail: string }[] = [];
  for (const id of ids) {
    try {
      const { delivery, waits } = await sendAgain(sql, id, { secrets: secretsOf(settings) });
      await recordCommand(sql, 'deliveries retry', { id: deliveryName(id) });
      again.push({ id: deliveryName(id), status: delivery.status, note: waits });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused.push({ id: deliveryName(id), code: error.reason, detail: error.message });
    }
  }
  return { again, refused };
}

/** Declares the command and what it can do. */
export function register(command: Command, context: CliContext): void {
  command.description('One event for one subscriber each, newest first. A delivery that is sent again keeps its id and bytes.');
  command
    .command('list', { isDefault: true })
    .summary('list them, newest first')
    .addOption(new Option('--status <status>', 'only these').choices(DELIVERY_STATUSES))
    .option('--subscriber <name>', 'only to this one')
    .option('--purchase <id>', 'only of this purchase')
    .option('--site <name>', 'the site of the purchase, when several have its id')
    .option('--event <id>', 'only of this event')
    .addOption(limitOption(10_000))
    .addOption(new Option('--cursor <delivery>', 'go on after this one').argParser(ruled(rowIdOf('dlv'))))
    .option('--json', 'write JSON')
    .action((options: ListOptions) => list(context, options));
  command
    .command('show')
    .summary('show one with its attempts')
    .argument('<id>', 'its id, such as dlv_42', ruled(rowIdOf('dlv')))
    .option('--json', 'write JSON')
    .action((id: number, options: JsonOption) => show(context, id, options));
  command
    .command('retry')
    .summary('send it again, whatever became of it')
    .argument('[id...]', 'ids, such as dlv_42', (text, before: number[] | undefined) => [
      ...(before ?? []),
      ruled(rowIdOf('dlv'))(text),
    ])
    .option('--subscriber <name>', 'instead of ids: all that was not delivered to this one, after what is new')
    .addOption(new Option('--status <status>', 'with it: those given up (by default), or never sent').choices(NOT_DELIVERED))
    .option('--dry-run', 'with it: only count, and say how long it would take')
    .option('--yes', 'with it: do not ask')
    .option('--json', 'write JSON')
    .action((ids: number[], options: JsonOption & Partial<RetryAllOptions>) => retry(context, ids ?? [], options));
  command.addHelpText('after', '\nOptions of the list: purchase-watch deliveries list --help');
  examples(command, [
    ['deliveries --status exhausted --subscriber shop', 'what was given up'],
    ['deliveries --status parked', 'what waits for a subscriber that is paused or off'],
    ['deliveries show dlv_42', 'every attempt'],
    ['deliveries retry dlv_42', 'once more'],
    ['deliveries retry --subscriber shop --status exhausted', 'all that was given up'],
  ]);
}

/** `deliveries`: what was sent to whom, and sending one again. */

import { databaseNow, type Sql } from '../../actions/database.ts';
import { type DeliveryRow, findDelivery, listDeliveries } from '../../actions/deliveries/deliveries.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { deliveryBody, deliveryDetails } from '../../actions/subscribers/body.ts';
import { deliveryName } from '../../actions/subscribers/names.ts';
import { Refused } from '../../actions/subscribers/refused.ts';
import { sendAgain } from '../../actions/subscribers/replay.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import { findSubscriber, isSubscriberKnown, subscriberNames, unreachableReason } from '../../actions/subscribers/subscribers.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { DELIVERY_STATUSES, NOT_DELIVERED } from '../../domain/deliveries/delivery-status.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import { JSON_OPTION, limitOption, ruled } from '../terminal/arguments.ts';
import { declare, group } from '../terminal/command.ts';
import { type OpenDatabase, onDatabase, withDatabase } from '../terminal/database.ts';
import { printFacts, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { printTable } from '../terminal/table.ts';
import { retryAll } from './retry-all.ts';

const ID = { read: ruled(rowIdOf('dlv')) };

const list = declare(
  {
    summary: 'list them, newest first',
    options: [
      ['--status <status>', 'only these', { choices: DELIVERY_STATUSES }],
      ['--subscriber <name>', 'only to this one'],
      ['--purchase <id>', 'only of this purchase'],
      ['--site <name>', 'the site of the purchase, when several have its id'],
      ['--event <id>', 'only of this event'],
      limitOption(10_000),
      ['--cursor <delivery>', 'go on after this one', ID],
      JSON_OPTION,
    ],
  },
  async (context, { json, limit, cursor = null, ...filter }) => {
    if (filter.site !== undefined && filter.purchase === undefined)
      throw new AppError('invalid', '--site: says which purchase is meant, so it needs --purchase');
    await withDatabase(context, async ({ sql }) => {
      const rows = await listDeliveries(sql, { filter, before: cursor, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const next = rows.length > limit ? deliveryName(page.at(-1)!.id) : null;
      if (page.length === 0 && filter.subscriber !== undefined) await requireKnown(sql, filter.subscriber);
      if (json) return printJson(context, { data: page.map(deliveryBody), nextCursor: next });
      if (page.length === 0) return printLine(context, 'No deliveries.');
      const now = await databaseNow(sql);
      printTable(context, page, {
        delivery: ({ id }) => deliveryName(id),
        subscriber: ({ subscriber }) => subscriber,
        event: ({ type }) => type,
        purchase: ({ purchaseId }) => purchaseId,
        status: ({ status }) => status,
        tries: ({ attempts }) => attempts,
        when: (row) => when(row, now),
        trouble: ({ reason, lastError }) => reason ?? lastError ?? '',
      });
      if (next !== null) printLine(context, `\nThere are more: --cursor ${next}`);
    });
  },
);

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

const show = onDatabase(
  {
    summary: 'show one with its attempts',
    arguments: [['<id>', 'its id, such as dlv_42', ID]],
    options: [JSON_OPTION],
  },
  async (context, { id, json }, { sql, settings }) => {
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
    if (row.tries.length === 0) return printLine(context, '\nNo attempt was made yet.');
    printLine(context);
    printTable(context, row.tries, {
      '#': ({ number }) => number,
      when: ({ at }) => relative(at, now),
      outcome: ({ outcome }) => outcome,
      fault: ({ fault }) => fault ?? '',
      status: ({ httpStatus }) => httpStatus,
      'took ms': ({ tookMs }) => tookMs,
      answer: ({ excerpt }) => (excerpt ?? '').slice(0, 80),
    });
    if (row.answer === null) return;
    printLine(context, `\nThe whole answer to attempt ${row.answer.number}:\n`);
    for (const line of row.answer.text.split('\n')) printLine(context, line);
  },
);

/** Why its subscriber cannot be sent anything, by the settings of this process, or null. */
async function unreadable({ sql, settings }: Pick<OpenDatabase, 'sql' | 'settings'>, name: string): Promise<string | null> {
  const subscriber = await findSubscriber(sql, name);
  const secrets = secretsOf(settings);
  // Without a key in this shell nothing is known of the daemons' one.
  return subscriber === null || secrets === null ? null : unreachableReason({ secrets }, subscriber);
}

const retry = declare(
  {
    summary: 'send it again, whatever became of it',
    arguments: [
      ['[id...]', 'ids, such as dlv_42', { read: (text: string, before: number[] = []) => [...before, ID.read(text)] }],
    ],
    options: [
      ['--subscriber <name>', 'instead of ids: all that was not delivered to this one, after what is new'],
      ['--status <status>', 'with it: those given up (by default), or never sent', { choices: NOT_DELIVERED }],
      ['--dry-run', 'with it: only count, and say how long it would take'],
      ['--yes', 'with it: do not ask'],
      JSON_OPTION,
    ],
  },
  async (context, { id: ids, subscriber, status, dryRun, yes, json }) => {
    if ((subscriber === undefined) === (ids.length === 0))
      throw new AppError('invalid', 'name the deliveries by their ids, or all of one subscriber with --subscriber, not both');
    if (subscriber !== undefined) return retryAll(context, subscriber, { status, dryRun, yes, json });
    const stray = status !== undefined ? 'status' : dryRun ? 'dry-run' : yes ? 'yes' : null;
    if (stray !== null) throw new AppError('invalid', `--${stray}: only with --subscriber`);
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
  },
);

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

export const register = group(
  {
    description: 'One event for one subscriber each, newest first. A delivery that is sent again keeps its id and bytes.',
    after: '\nOptions of the list: purchase-watch deliveries list --help',
    examples: [
      ['deliveries --status exhausted --subscriber shop', 'what was given up'],
      ['deliveries --status parked', 'what waits for a subscriber that is paused or off'],
      ['deliveries show dlv_42', 'every attempt'],
      ['deliveries retry dlv_42', 'once more'],
      ['deliveries retry --subscriber shop --status exhausted', 'all that was given up'],
    ],
  },
  { list, show, retry },
);

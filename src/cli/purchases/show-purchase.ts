/** Shows one purchase: what is known, how it changed, and who got its events. */

import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { purchaseBody, transitionBody } from '../../actions/purchases/body.ts';
import {
  deliveriesOfPurchase,
  historyOf,
  type PurchaseDelivery,
  type PurchaseRow,
  type TransitionRow,
} from '../../actions/purchases/purchases.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { stateBoth, stateWords } from '../../domain/purchases/states.ts';
import type { ShownLimit } from '../../domain/stays/dwell.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { type Instant, isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { CliContext } from '../terminal/context.ts';
import type { OpenDatabase } from '../terminal/database.ts';
import { counted, printFacts, printJson, printLine, styled, textOf } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

/** Prints the purchase with its transitions and deliveries. */
export async function showPurchase(
  context: CliContext,
  { sql, settings }: OpenDatabase,
  row: PurchaseRow,
  json: boolean,
): Promise<void> {
  const [{ now, transitions, limit }, rows, sites] = await Promise.all([
    learnedLimits(sql, settings.policy).then((limits) => historyOf(sql, row, limits)),
    deliveriesOfPurchase(sql, row.id),
    listSites(sql),
  ]);
  if (json) {
    const deliveries = rows.map(({ createdAt, dueAt, settledAt, ...rest }) => ({
      ...rest,
      createdAt: isoTime(createdAt),
      dueAt: isoTime(dueAt),
      settledAt: isoTimeOrNull(settledAt),
    }));
    return printJson(context, { ...purchaseBody(row), limit, transitions: transitions.map(transitionBody), deliveries });
  }
  printHead(context, row, { now, limit });
  const site = sites.find(({ name }) => name === row.site);
  if (site?.failingSince != null) {
    printLine(
      context,
      styled(context, 'yellow', `\nSite ${row.site} does not answer: ${site.lastError ?? 'no reason is known'}`),
    );
  }
  printTransitions(context, transitions, now);
  printDeliveries(context, rows, now);
}

function printHead(context: CliContext, row: PurchaseRow, { now, limit }: { now: Instant; limit: ShownLimit | null }): void {
  const { price, currency, orderReference, metadata } = purchaseBody(row);
  printFacts(context, [
    ['purchase', row.purchaseId],
    ['site', row.site],
    ['status', row.status],
    ['state', row.state === null ? 'not seen yet' : `${stateBoth(row.state)}, seen first ${relative(row.stateSince, now)}`],
    ['stuck', row.stuckSince === null ? null : `yes, confirmed ${relative(row.stuckSince, now)}`, 'red'],
    ['limit', limit?.text ?? null],
    ['reference', row.reference],
    ['metadata', metadata === null ? null : JSON.stringify(metadata)],
    ['price', price === null ? null : `${textOf(price)} ${currency === null ? '' : textOf(currency)}`.trimEnd()],
    ['order', orderReference === null ? null : textOf(orderReference)],
    ['added', relative(row.registeredAt, now)],
    ['asked', row.lastPolledAt === null ? 'not yet' : `${counted(row.polls, 'time')}, last ${relative(row.lastPolledAt, now)}`],
    ['next', nextPoll(row.nextPollAt, now)],
    ['failures', row.failures === 0 ? null : `${row.failures} in a row`],
    ['trouble', row.lastError],
  ]);
}

function nextPoll(at: Instant | null, now: Instant): string {
  if (at === null) return 'not asked any more';
  const when = relative(at, now);
  return when.endsWith(' ago') ? `due since ${when.replace(/ ago$/, '')}` : when;
}

function printTransitions(context: CliContext, transitions: readonly TransitionRow[], now: Instant): void {
  if (transitions.length === 0) return void printLine(context, '\nNo change was seen yet.');
  printLine(context);
  printTable(context, transitions, {
    sequence: ({ sequence }) => sequence,
    change: ({ from, to }) => `${from === null ? '(first seen)' : stateWords(from)} → ${stateBoth(to)}`,
    seen: ({ notAfter }) => relative(notAfter, now),
    at: ({ notAfter }) => isoTime(notAfter),
  });
  const first = transitions[0]!.sequence;
  if (transitions.at(-1)!.sequence - first >= transitions.length)
    printLine(context, 'Numbers between them are of events without a change, such as purchase.stuck.');
}

function printDeliveries(context: CliContext, deliveries: readonly PurchaseDelivery[], now: Instant): void {
  if (deliveries.length === 0)
    return void printLine(context, '\nNo subscriber gets events of it so far. Who gets events: purchase-watch subscribers');
  printLine(context);
  printTable(context, deliveries, {
    sequence: ({ sequence }) => sequence,
    event: ({ type }) => type,
    subscriber: ({ subscriber }) => subscriber,
    delivery: ({ status }) => status,
    tries: ({ attempts }) => attempts,
    when: ({ settledAt, status, dueAt }) =>
      settledAt !== null ? relative(settledAt, now) : status === 'pending' ? `next ${relative(dueAt, now)}` : '',
    trouble: ({ reason, lastError }) => reason ?? lastError ?? '',
  });
}

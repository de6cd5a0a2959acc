/** Polling, announcing again and stopping many purchases at once: what would come of it, and doing it. */

import { usableAnswers } from '../../domain/polling/reach.ts';
import { unnamedSiteText, unpolledAdvice } from '../../domain/polling/unpolled.ts';
import { counted } from '../../domain/values/counts.ts';
import { sentence } from '../../domain/values/sentence.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { announceAgain } from '../../postgres/deliveries/deliveries-again.ts';
import { stopPurchasesOf } from '../../postgres/polling/rename.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { type WatchSettled, watchSettled } from '../../postgres/polling/watch-settled.ts';
import { listPurchases } from '../../postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../postgres/purchases/list-filter.ts';
import type { Position } from '../../postgres/purchases/list-sources.ts';
import { type Chosen, findNamed, requestPolls, stopPurchases } from '../../postgres/purchases/many.ts';
import type { PurchaseName } from '../../postgres/purchases/purchases.ts';
import { databaseNow, waitingDeliveries, waitingOf } from '../../postgres/reports/overview.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { type Opening, waitAdvice } from '../subscribers/outlook.ts';

/** `poll`: now. `announce`: the last event again, to every subscriber that wants it but people. `stop`: watching. */
export const MANY_ACTS = ['poll', 'announce', 'stop'] as const;

export type ManyAct = (typeof MANY_ACTS)[number];

/** Chosen by a filter, so many at most by API and pages; beyond it, by the command. */
export const MOST_MATCHING = 10_000;

export { countSettled } from '../../postgres/polling/watch-settled.ts';

/** Purchases in one statement; a statement about more of them would hold its locks for long. */
const AT_ONCE = 500;
/** First polls a second of those that are watched again, so that customers who pay now are polled in time. */
export const FIRST_POLLS_A_SECOND = 10;

/** `dryRun` changes nothing. */
type ManyOptions = { readonly act: ManyAct; readonly dryRun: boolean; readonly opening?: Opening | undefined };

/** The names of all purchases that a filter lets through; `isWhole`: there are no more than `most`. */
export async function namesOfMatching(sql: Queries, filter: PurchaseFilter, most: number) {
  const names: PurchaseName[] = [];
  for (let after: Position | null = null; ; ) {
    const { rows, next } = await listPurchases(sql, { filter, sort: 'newest', after, limit: AT_ONCE });
    names.push(...rows.map(({ site, purchaseId }) => ({ site, purchaseId })));
    if (names.length > most) return { names: names.slice(0, most), isWhole: false };
    if (next === null) return { names, isWhole: true };
    after = next;
  }
}

/** Does it to purchases, a few hundred at a time, and answers what was done, or would be; what is broken off may be repeated. */
export async function actOnMany(sql: Queries, names: readonly PurchaseName[], options: ManyOptions) {
  const { act, dryRun } = options;
  const found: Chosen[] = [];
  for (let at = 0; at < names.length; at += AT_ONCE) found.push(...(await findNamed(sql, names.slice(at, at + AT_ONCE))));
  const meant = found.filter(({ isStopped, isPolled }) => (act === 'poll' ? !isStopped : act === 'announce' || isPolled));
  const parts = Array.from({ length: Math.ceil(meant.length / AT_ONCE) }, (_, part) =>
    meant.slice(part * AT_ONCE, (part + 1) * AT_ONCE),
  );
  const deliveries = act === 'announce' ? await announced(sql, parts, options) : [];
  let stopped = 0;
  for (const part of dryRun ? [] : parts) {
    if (act === 'poll') await requestPolls(sql, part);
    if (act === 'stop') stopped += await stopPurchases(sql, part);
  }
  const done = act === 'stop' && !dryRun ? stopped : meant.length;
  return {
    act,
    dryRun,
    /** Chosen purchases that are registered, and those that are not registered here any more. */
    purchases: found.length,
    missing: names.length - found.length,
    /** Purchases that are polled or stopped; of announcing, deliveries. */
    count: act === 'announce' ? deliveries.reduce((sum, { count }) => sum + count, 0) : done,
    /** Purchases to which nothing is done: stopped ones are not polled, and only polled ones can be stopped. */
    leftAlone: found.length - done,
    deliveries,
    /** When polls are asked for: the sites that are not polled at present. */
    sites: act === 'poll' ? await unpolled(sql, meant) : [],
  };
}

export type ManyResult = Awaited<ReturnType<typeof actOnMany>>;

/**
 * Announces to each subscriber that gets something. `waiting`: of these events, deliveries that wait in any case and are not sent twice;
 * `waits`: why they wait, as a sentence, null when they leave at once.
 */
async function announced(sql: Queries, parts: readonly (readonly Chosen[])[], { dryRun, opening }: ManyOptions) {
  const now = await databaseNow(sql);
  const subscribers = (await readSubscribers(sql)).filter(({ audience }) => audience !== 'people');
  const found: { subscriber: (typeof subscribers)[number]; count: number; waiting: number; advice: string | null }[] = [];
  for (const subscriber of subscribers) {
    let [count, waiting] = [0, 0];
    for (const part of parts) {
      const of = { subscriber: subscriber.id, purchases: part.map(({ id }) => id) };
      const step = await announceAgain(sql, of, { dryRun });
      count += step.count;
      waiting += step.waiting;
    }
    if (count + waiting > 0) found.push({ subscriber, count, waiting, advice: waitAdvice(subscriber, now, opening) });
  }
  const all = found.some(({ advice }) => advice !== null) ? await waitingDeliveries(sql) : [];
  return found.map(({ subscriber: { id, name }, count, waiting, advice }) => {
    const { parked, atLeast } = waitingOf(all, id);
    // Once it is done, these are among them.
    const before = dryRun ? parked : parked - count;
    const behind =
      before > 0 ? ` ${atLeast ? 'At least ' : ''}${counted(before, 'delivery is', 'deliveries are')} parked before them.` : '';
    return { subscriber: name, count, waiting, waits: advice === null ? null : `${sentence(advice)}.${behind}` };
  });
}

async function unpolled(sql: Queries, meant: readonly Chosen[]) {
  const counts = Map.groupBy(meant, ({ site }) => site);
  return (await listSites(sql)).flatMap((site) => {
    const { name, configured, failingSince, lastSuccessAt } = site;
    const count = counts.get(name)?.length ?? 0;
    if (count === 0 || (configured && failingSince === null)) return [];
    const waits = configured
      ? `The site ${name} has given ${usableAnswers(failingSince!, lastSuccessAt)} since ${isoTime(failingSince!)}; they are polled once it does.`
      : `${sentence(unnamedSiteText(site))}: ${unpolledAdvice(site)}.`;
    return [{ site: name, count, waits }];
  });
}

/** Stops all watched purchases of a site; answers how many. Those that other sessions have locked are left alone. */
export const stopSite = (sql: Queries, site: string) => untilNone(() => stopPurchasesOf(sql, site, AT_ONCE));

/** Watches all purchases again that settled in a state, of one site or of all; answers how many. */
export const watchSettledAgain = (sql: Queries, which: Pick<WatchSettled, 'state' | 'site'>) =>
  untilNone((before) => watchSettled(sql, { ...which, limit: AT_ONCE, before, perSecond: FIRST_POLLS_A_SECOND }));

/** Repeats a step, which gets the sum so far, until it does nothing more; answers the sum. */
async function untilNone(step: (before: number) => Promise<number>): Promise<number> {
  for (let sum = 0; ; ) {
    const some = await step(sum);
    if (some === 0) return sum;
    sum += some;
  }
}

/** Polling, announcing again and stopping many purchases at once: what would come of it, and doing it. */
import { sentence } from '../../domain/incidents/replica-trouble.ts';
import { usableAnswers } from '../../domain/polling/reach.ts';
import { unnamedSiteText, unpolledAdvice } from '../../domain/polling/unpolled.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { announceAgain } from '../../postgres/deliveries/deliveries-again.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { listPurchases } from '../../postgres/purchases/list.ts';
import type { PurchaseFilter } from '../../postgres/purchases/list-filter.ts';
import type { Position } from '../../postgres/purchases/list-sources.ts';
import { type Chosen, findNamed, requestPolls, stopPurchases } from '../../postgres/purchases/many.ts';
import type { PurchaseName } from '../../postgres/purchases/purchases.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { type Opening, waitAdvice } from '../subscribers/outlook.ts';

/** `poll`: now. `announce`: the last event again, to every subscriber that wants it but people. `stop`: watching. */
export const MANY_ACTS = ['poll', 'announce', 'stop'] as const;

export type ManyAct = (typeof MANY_ACTS)[number];

/** Chosen by a filter, so many at most by API and pages; beyond it, by the command. */
export const MOST_MATCHING = 10_000;

/** So many in one statement. */
const AT_ONCE = 500;

/** What was done, or would be. */
export interface ManyResult {
  readonly act: ManyAct;
  readonly dryRun: boolean;
  /** Of the chosen purchases, those that there are. */
  readonly purchases: number;
  /** Chosen, and not registered here any more. */
  readonly missing: number;
  /** Purchases that are polled or stopped; of announcing, deliveries. */
  readonly count: number;
  /** Purchases to which nothing is done: stopped ones are not polled, and only polled ones can be stopped. */
  readonly leftAlone: number;
  /** Of announcing: for each subscriber that gets something. */
  readonly deliveries: readonly {
    readonly subscriber: string;
    readonly count: number;
    /** Of these events, deliveries that wait in any case and are not sent twice. */
    readonly waiting: number;
    /** Why they wait, as a sentence; null when they leave at once. */
    readonly waits: string | null;
  }[];
  /** Of polling: the sites that are not polled at present. */
  readonly sites: readonly { readonly site: string; readonly count: number; readonly waits: string }[];
}

export interface ManyOptions {
  readonly act: ManyAct;
  /** Changes nothing. */
  readonly dryRun: boolean;
  readonly opening?: Opening | undefined;
}

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

/** Does it to purchases, a few hundred at a time; what is broken off may be repeated. */
export async function actOnMany(sql: Queries, names: readonly PurchaseName[], options: ManyOptions): Promise<ManyResult> {
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
    purchases: found.length,
    missing: names.length - found.length,
    count: act === 'announce' ? deliveries.reduce((sum, { count }) => sum + count, 0) : done,
    leftAlone: found.length - done,
    deliveries,
    sites: act === 'poll' ? await unpolled(sql, meant) : [],
  };
}

async function announced(
  sql: Queries,
  parts: readonly (readonly Chosen[])[],
  { dryRun, opening }: ManyOptions,
): Promise<ManyResult['deliveries']> {
  const now = await databaseNow(sql);
  const subscribers = (await readSubscribers(sql)).filter(({ audience }) => audience !== 'people');
  const answers: ManyResult['deliveries'][number][] = [];
  for (const subscriber of subscribers) {
    let [count, waiting] = [0, 0];
    for (const part of parts) {
      const of = { subscriber: subscriber.id, purchases: part.map(({ id }) => id) };
      const step = await announceAgain(sql, of, { dryRun });
      count += step.count;
      waiting += step.waiting;
    }
    const advice = waitAdvice(subscriber, now, opening);
    if (count + waiting > 0)
      answers.push({ subscriber: subscriber.name, count, waiting, waits: advice === null ? null : `${sentence(advice)}.` });
  }
  return answers;
}

async function unpolled(sql: Queries, meant: readonly Chosen[]): Promise<ManyResult['sites']> {
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

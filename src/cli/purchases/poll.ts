/** `poll`: asks for a purchase now. */

import { setTimeout as delay } from 'node:timers/promises';
import { readClock, type Sql } from '../../actions/database.ts';
import { findPurchases, type PurchaseRow, requestPoll } from '../../actions/purchases/purchases.ts';
import { daemonsDiffer, livingDaemons } from '../../actions/running-daemons.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { unnamedSiteText, unpolledAdvice } from '../../domain/polling/unpolled.ts';
import { longestTurn, turnsText } from '../../domain/replicas/named.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { formatDuration, humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { durationArgument, JSON_OPTION } from '../terminal/arguments.ts';
import { missingDaemon, onDatabase } from '../terminal/database.ts';
import { recordCommand } from '../terminal/record.ts';
import { findPurchase } from './purchase.ts';
import { showPurchase } from './show-purchase.ts';

const LOOK_AGAIN: Milliseconds = 50;

export const register = onDatabase(
  {
    description: 'Has the running daemon ask for a purchase now, waits for the answer and shows the purchase.',
    arguments: [['<id>', 'its Purchase ID']],
    options: [
      ['--site <name>', 'the site, when several have this id'],
      ['--wait <duration>', 'how long to wait for the answer', { read: durationArgument, usual: 10_000, shown: '10s' }],
      JSON_OPTION,
    ],
    examples: [
      ['poll 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'ask and show'],
      ['poll 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --json | jq .state.name', 'for programs'],
    ],
    restsOn: ['polling'],
  },
  async (context, { id: purchaseId, site, wait, json }, database) => {
    const { sql } = database;
    const before = await findPurchase(sql, { purchaseId, site });
    if (before.status === 'stopped') {
      throw new AppError(
        'conflict',
        `${purchaseId} is not watched any more; take it up again with: ${commandLine`watch ${purchaseId} --site ${before.site}`}`,
      );
    }
    const missing = (await missingDaemon(sql)) ?? (await unpolledSite(sql, before.site));
    if (missing !== null) throw new AppError('unavailable', missing);
    await requestPoll(sql, before);
    await recordCommand(sql, 'poll', { id: purchaseId, site: before.site });
    const after = await waitForPoll(sql, before, wait);
    await showPurchase(context, database, after, json);
  },
);

/** The purchase once a poll was recorded; throws AppError with the likely reason when none was in time. */
async function waitForPoll(sql: Sql, before: PurchaseRow, wait: Milliseconds): Promise<PurchaseRow> {
  const deadline = performance.now() + wait;
  for (;;) {
    const [row] = await findPurchases(sql, before);
    if (row === undefined) throw new AppError('not_found', `${before.purchaseId} was removed meanwhile`);
    if (row.polls > before.polls) return row;
    if (performance.now() >= deadline) throw new AppError('unavailable', await whyNot(sql, before, wait));
    await delay(LOOK_AGAIN);
  }
}

/** Why purchases of a site get no answer at all, and what to do; null while a running daemon polls them. */
async function unpolledSite(sql: Sql, site: string): Promise<string | null> {
  const found = (await listSites(sql)).find(({ name }) => name === site);
  return found === undefined || found.configured ? null : `${unnamedSiteText(found)}; ${unpolledAdvice(found)}`;
}

async function whyNot(sql: Sql, { site, purchaseId }: PurchaseRow, wait: Milliseconds): Promise<string> {
  const { failingSince, lastSuccessAt, lastError } = (await listSites(sql)).find(({ name }) => name === site)!;
  const none = `no answer was recorded within ${humanDuration(wait)}`;
  const unpolled = await unpolledSite(sql, site);
  if (unpolled !== null) return `${none}: ${unpolled}`;
  const turns = daemonsDiffer(await livingDaemons(sql))?.turns ?? null;
  if (turns !== null)
    return `${none}: the running daemons have different settings: ${turnsText(turns)}. The request stands: wait longer with --wait ${formatDuration(longestTurn(turns) + wait)}, and give every daemon the same settings`;
  if (failingSince !== null) return `${none}: site ${site} does not answer. ${lastError ?? ''}`.trimEnd();
  // A few failed calls are not known as the site's trouble yet; the time of its last answer shows them all the same.
  const { now } = await readClock(sql);
  const answered =
    lastSuccessAt === null ? 'has not answered yet' : `last answered ${relative(lastSuccessAt, now).replace('now', 'just now')}`;
  return `${none}; site ${site} ${answered}, and the request stands: look again with "${commandLine`status ${purchaseId} --site ${site}`}", wait longer with --wait, or see whether the site answers with "purchase-watch doctor"`;
}

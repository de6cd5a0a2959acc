/** `poll`: asks for a purchase now. */

import { readClock, type Sql } from '../../actions/database.ts';
import { pollingOf, requestPoll, waitForPoll } from '../../actions/purchases/poll.ts';
import { findPurchases, type PurchaseRow } from '../../actions/purchases/purchases.ts';
import type { SiteRow } from '../../actions/sites/sites.ts';
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
    const missing = (await missingDaemon(sql)) ?? unpolled((await pollingOf(sql, before.site)).site);
    if (missing !== null) throw new AppError('unavailable', missing);
    const than = await requestPoll(sql, before);
    await recordCommand(sql, 'poll', { id: purchaseId, site: before.site });
    const isPolled = await waitForPoll(sql, before, { than, within: wait });
    const [after] = await findPurchases(sql, before);
    if (after === undefined) throw new AppError('not_found', `${before.purchaseId} was removed meanwhile`);
    if (!isPolled) throw new AppError('unavailable', await whyNot(sql, before, wait));
    await showPurchase(context, database, after, json);
  },
);

/** Why purchases of a site get no answer at all, and what to do; null while a running daemon polls them. */
function unpolled(site: SiteRow | null): string | null {
  return site === null || site.configured ? null : `${unnamedSiteText(site)}; ${unpolledAdvice(site)}`;
}

async function whyNot(sql: Sql, { site, purchaseId }: PurchaseRow, wait: Milliseconds): Promise<string> {
  const { site: found, turns } = await pollingOf(sql, site);
  const { failingSince, lastSuccessAt, lastError } = found!;
  const none = `no answer was recorded within ${humanDuration(wait)}`;
  const why = unpolled(found);
  if (why !== null) return `${none}: ${why}`;
  if (turns !== null)
    return `${none}: the running daemons have different settings: ${turnsText(turns)}. The request stands: wait longer with --wait ${formatDuration(longestTurn(turns) + wait)}, and give every daemon the same settings`;
  if (failingSince !== null) return `${none}: site ${site} does not answer. ${lastError ?? ''}`.trimEnd();
  // A few failed calls are not known as the site's trouble yet; the time of its last answer shows them all the same.
  const { now } = await readClock(sql);
  const answered =
    lastSuccessAt === null ? 'has not answered yet' : `last answered ${relative(lastSuccessAt, now).replace('now', 'just now')}`;
  return `${none}; site ${site} ${answered}, and the request stands: look again with "${commandLine`status ${purchaseId} --site ${site}`}", wait longer with --wait, or see whether the site answers with "purchase-watch doctor"`;
}

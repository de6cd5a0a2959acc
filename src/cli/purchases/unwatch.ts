/** `unwatch`: stops watching a purchase, or all purchases of a site. */

import type { Sql } from '../../actions/database.ts';
import { stopSite } from '../../actions/purchases/many.ts';
import { countPolled, countPurchases, stopPurchase } from '../../actions/purchases/purchases.ts';
import { runningReplicas } from '../../actions/running-replicas.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { unnamedSiteText, unpolledAdvice, unpolledText } from '../../domain/polling/unpolled.ts';
import { AppError } from '../../domain/values/errors.ts';
import { sentence } from '../../domain/values/sentence.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import { confirm } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printText } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { knownSite } from '../terminal/site.ts';
import { findPurchase } from './purchase.ts';

export const register = declare(
  {
    description: 'Stops polling a purchase, or all purchases of a site. What is known of them stays.',
    arguments: [['[id]', 'its Purchase ID; without it all purchases of --site']],
    options: [
      ['--site <name>', 'the site, when several have this id, or whose purchases are all stopped'],
      ['--yes', 'for a whole site: do not ask'],
      ['--dry-run', 'for a whole site: only count its watched purchases'],
      JSON_OPTION,
    ],
    examples: [
      ['unwatch 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'no more polls'],
      ['unwatch --site old-shop --dry-run', 'how many purchases the site has'],
      ['unwatch --site old-shop', 'stops all of them; asks first'],
    ],
  },
  async (context, { id, site, yes, dryRun, json }) => {
    if (id !== undefined && (yes || dryRun))
      throw new AppError('invalid', `--${yes ? 'yes' : 'dry-run'}: only for a whole site, without a purchase ID`);
    if (id !== undefined) return withDatabase(context, ({ sql }) => unwatchOne(context, sql, { purchaseId: id, site, json }));
    if (site === undefined) throw new AppError('invalid', 'name a purchase ID, or a site with --site to stop all its purchases');
    await withDatabase(context, ({ sql }) => unwatchSite(context, sql, site, { yes, dryRun, json }));
  },
);

async function unwatchOne(
  context: CliContext,
  sql: Sql,
  { purchaseId, site, json }: { purchaseId: string; site: string | undefined; json: boolean },
): Promise<void> {
  const purchase = await findPurchase(sql, { purchaseId, site });
  await stopPurchase(sql, purchase);
  await recordCommand(sql, 'unwatch', { id: purchaseId, site: purchase.site });
  const was = purchase.status;
  if (json) return printJson(context, { purchaseId, site: purchase.site, status: 'stopped', was });
  const text =
    was === 'stopped'
      ? `${purchaseId} at site ${purchase.site} was stopped already`
      : `stopped ${purchaseId} at site ${purchase.site}; what is known of it stays, and "watch" takes it up again`;
  printLine(context, text);
}

async function unwatchSite(
  context: CliContext,
  sql: Sql,
  site: string,
  { yes, dryRun, json }: { yes: boolean; dryRun: boolean; json: boolean },
): Promise<void> {
  const count = await printWatched(context, sql, site, json);
  const isDone = dryRun || count === 0;
  if (!isDone && !yes)
    await confirm(context, {
      question: `Stop polling ${count === 1 ? 'it' : `all ${count}`}? Their history stays; "watch" takes each up again.`,
      otherwise: 'stopping all purchases of a site needs a yes: say --yes to do it, or --dry-run to see how many there are',
      refused: 'nothing was stopped',
      json,
    });
  const stopped = isDone ? 0 : await stopSite(sql, site);
  if (stopped > 0) await recordCommand(sql, 'unwatch', { site, count: stopped });
  const left = isDone ? count : await countPolled(sql, site);
  if (json) return printJson(context, { site, watched: left, stopped });
  if (isDone) return printLine(context, `Nothing was stopped${dryRun ? ' (--dry-run)' : ''}.`);
  printLine(context, `Stopped ${counted(stopped, 'purchase')} of site ${site}; what is known of them stays.`);
  if (left > 0)
    printLine(context, `${counted(left, 'purchase')} could not be stopped: another session holds the rows. Run this again.`);
}

/** Prints how many purchases of a site are watched and whether daemons poll it, and answers the number. Throws AppError `invalid` for an unknown site. */
async function printWatched(context: CliContext, sql: Sql, site: string, silent: boolean): Promise<number> {
  const sites = await listSites(sql);
  knownSite(
    site,
    sites.map(({ name }) => name),
  );
  const [count, groups, replicas] = await Promise.all([countPolled(sql, site), countPurchases(sql), runningReplicas(sql)]);
  if (silent) return count;
  const registered = groups.reduce((sum, group) => sum + (group.site === site ? group.count : 0), 0);
  const ended = count === 0 && registered > 0 ? ` (${counted(registered, 'purchase')} of it ended before)` : '';
  printLine(context, `${counted(count, 'purchase')} of site ${site} ${count === 1 ? 'is' : 'are'} watched${ended}.`);
  const names = replicas.filter(({ named }) => named !== null && site in named.sites).length;
  if (names > 0) {
    const text = `Site ${site} is in the settings of ${counted(names, 'running daemon')}: it is polled, and takes registrations as before, whatever unwatch stops. To end the site, take it out of the settings first.`;
    printText(context, text);
  }
  const found = sites.find(({ name }) => name === site);
  if (found !== undefined && found.unpolled > 0) printText(context, `${sentence(unnamedSiteText(found))}.`);
  // The site that was meant may be one that lost its name.
  for (const other of sites.filter(({ name, unpolled }) => name !== site && unpolled > 0))
    printText(context, `${sentence(unpolledText(other))}; ${unpolledAdvice(other)}.`);
  return count;
}

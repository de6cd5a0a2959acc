/** `audit`: proves that what happened was announced, to everybody who wants it. */

import type { Command } from 'commander';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { readClock } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { type AuditResult, audit, type CheckResult, type Gap } from '../../postgres/upkeep/audit.ts';
import type { AuditCheck } from '../../postgres/upkeep/audit-checks.ts';
import { durationArgument, examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, styled } from '../terminal/output.ts';
import { countOn } from '../terminal/progress.ts';
import { knownSite } from '../terminal/site.ts';

interface Options {
  readonly site?: string;
  readonly since?: Milliseconds;
  readonly json?: true;
}

/** What each check proves, printed after the count of what it looked at. */
const PROVEN: Readonly<Record<AuditCheck, (checked: number) => string>> = {
  transitions: (n) => `${counted(n, 'transition')}, each with its event and the same states`,
  announcements: (n) => `${counted(n, 'announced change')}, each with its transition`,
  sequences: (n) => `${counted(n, 'purchase')}, their events numbered without a gap`,
  chains: (n) => `${counted(n, 'purchase')}, each change beginning where the one before ended`,
  deliveries: (n) => `${counted(n, 'delivery', 'deliveries')} that subscribers want of purchases' events, each there once`,
  site_events: (n) => `${counted(n, 'event')} of sites and incidents, each delivered once per subscriber that wants it`,
  orphans: (n) =>
    `${counted(n, 'delivery', 'deliveries')}, none without its event, and no event or transition without its purchase`,
  counters: (n) => `${counted(n, 'counter')}, each equal to what it counts`,
};

/** On no terminal a line for so many rows. */
const LINE_EVERY = 100_000;

async function auditCommand(context: CliContext, { site, since, json }: Options): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    if (site !== undefined)
      knownSite(
        site,
        (await listSites(sql)).map(({ name }) => name),
      );
    const begun = performance.now();
    const moment = since === undefined ? null : (await readClock(sql)).now - since;
    const progress = countOn(context, LINE_EVERY);
    const result = await audit(sql, {
      site: site ?? null,
      since: moment,
      onProgress: (kind, count) => progress.show(count, `${grouped(count)} ${kind} …`),
    });
    progress.clear();
    const tookMs = Math.round(performance.now() - begun);
    const gaps = Object.values(result).reduce((sum, check) => sum + check.gaps, 0);
    if (json) printJson(context, { whole: gaps === 0, gaps, tookMs, checks: result });
    else printAudit(context, result, tookMs);
    if (gaps > 0) throw new AppError('conflict', `${counted(gaps, 'gap')} found; docs/troubleshooting.md says what to do`);
  });
}

function printAudit(context: CliContext, result: AuditResult, tookMs: number): void {
  for (const [check, found] of Object.entries(result) as [AuditCheck, CheckResult][]) {
    const mark = found.gaps === 0 ? styled(context, 'green', 'whole') : styled(context, 'red', 'gaps ');
    const but = found.gaps === 0 ? '' : `: not so ${counted(found.gaps, 'time')}`;
    printLine(context, `${mark}  ${PROVEN[check](found.checked)}${but}`);
    for (const gap of found.first) printLine(context, `         ${printable(gapText(gap))}`);
    if (found.gaps > found.first.length)
      printLine(context, `         and ${counted(found.gaps - found.first.length, 'more', 'more')}`);
  }
  printLine(context, styled(context, 'gray', `looked at in ${humanDuration(tookMs)}`));
}

function gapText({ site, purchaseId, sequence, detail }: Gap): string {
  const place = [site, purchaseId, sequence === null ? null : `#${sequence}`].filter((part) => part !== null).join(' ');
  return place === '' ? detail : `${place}: ${detail}`;
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Checks that every change of state has its event, that events are numbered without gaps, and that each has exactly one delivery for each subscriber that wants it; lists the gaps, and ends with exit code 1 when there are any. Only reads, in short statements, so a daemon may run meanwhile.',
    )
    .option('--site <name>', 'only this site')
    .option('--since <duration>', 'only purchases that were registered or changed within this time', durationArgument)
    .option('--json', 'write JSON')
    .action((options: Options) => auditCommand(context, options));
  examples(command, [
    ['audit', 'everything'],
    ['audit --since 24h', 'what happened in the last day'],
    ['audit --json | jq .whole', 'for programs'],
  ]);
}

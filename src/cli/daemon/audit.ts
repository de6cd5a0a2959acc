/** `audit`: proves that what happened was announced, to everybody who wants it. */

import { type Command, Option } from 'commander';
import { compareLog, loggedSubscriber, type SentResult } from '../../actions/audit-sent.ts';
import { changeBody, changeSentences, markCompared, openChanges } from '../../actions/database-changes.ts';
import type { DatabaseChange } from '../../domain/incidents/database-loss.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import { type AuditResult, audit, type CheckResult, type Gap } from '../../postgres/upkeep/audit.ts';
import type { AuditCheck } from '../../postgres/upkeep/audit-checks.ts';
import { durationArgument, examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, styled } from '../terminal/output.ts';
import { countOn } from '../terminal/progress.ts';
import { recordCommand } from '../terminal/record.ts';
import { knownSite } from '../terminal/site.ts';
import { readLog } from './received-log.ts';

interface Options {
  readonly site?: string;
  readonly since?: Milliseconds;
  readonly sent?: string;
  readonly subscriber?: string;
  readonly compared?: true;
  readonly json?: true;
}

/** What each check proves, printed after the count of what it looked at. */
const PROVEN: Readonly<Record<AuditCheck | keyof SentResult, (checked: number) => string>> = {
  transitions: (n) => `${counted(n, 'transition')}, each with its event and the same states`,
  announcements: (n) => `${counted(n, 'announced change')}, each with its transition`,
  sequences: (n) => `${counted(n, 'purchase')}, their events numbered without a gap`,
  chains: (n) => `${counted(n, 'purchase')}, each change beginning where the one before ended`,
  deliveries: (n) => `${counted(n, 'delivery', 'deliveries')} that subscribers want of purchases' events, each there once`,
  site_events: (n) => `${counted(n, 'event')} of sites and incidents, each delivered once per subscriber that wants it`,
  orphans: (n) =>
    `${counted(n, 'delivery', 'deliveries')}, none without its event, and no event or transition without its purchase`,
  counters: (n) => `${counted(n, 'counter')}, each equal to what it counts`,
  known: (n) => `${counted(n, 'event')} of the log, each known to the database`,
  arrived: (n) => `${counted(n, 'event')} that the database calls delivered since the first of the log, each in the log`,
};

/** On no terminal a line for so many rows. */
const LINE_EVERY = 100_000;

async function auditCommand(context: CliContext, options: Options): Promise<void> {
  const { site, since, sent, json, compared } = options;
  if (compared) return noteCompared(context, json === true);
  if (options.subscriber !== undefined && sent === undefined) throw new AppError('invalid', '--subscriber: only with --sent');
  await withDatabase(context, async ({ sql }) => {
    if (site !== undefined)
      knownSite(
        site,
        (await listSites(sql)).map(({ name }) => name),
      );
    const begun = performance.now();
    const moment = since === undefined ? null : (await readClock(sql)).now - since;
    const checks =
      sent === undefined ? await auditRows(context, sql, site, moment) : await auditLog(context, sql, options, moment);
    const tookMs = Math.round(performance.now() - begun);
    const gaps = Object.values(checks).reduce((sum, check) => sum + check.gaps, 0);
    const changes = (await openChanges(sql)).filter(({ noticedAt }) => moment === null || noticedAt > moment);
    const whole = gaps === 0 && changes.length === 0;
    if (json) printJson(context, { whole, gaps, tookMs, checks, databaseChanges: changes.map(changeBody) });
    else {
      printAudit(context, checks);
      for (const change of changes) printUnknown(context, change);
      printLine(context, styled(context, 'gray', `looked at in ${humanDuration(tookMs)}`));
    }
    if (gaps > 0) throw new AppError('conflict', `${counted(gaps, 'gap')} found; docs/troubleshooting.md says what to do`);
    if (!whole) throw new AppError('conflict', 'what the database lost is not compared yet; docs/troubleshooting.md says how');
  });
}

async function auditRows(context: CliContext, sql: Sql, site: string | undefined, since: Instant | null): Promise<AuditResult> {
  const progress = countOn(context, LINE_EVERY);
  const result = await audit(sql, {
    site: site ?? null,
    since,
    onProgress: (kind, count) => progress.show(count, `${grouped(count)} ${kind} …`),
  });
  progress.clear();
  return result;
}

async function auditLog(context: CliContext, sql: Sql, { sent, subscriber: name }: Options, since: Instant | null) {
  const subscriber = await loggedSubscriber(sql, name);
  return compareLog(sql, await readLog(context, sent!), { subscriber, since });
}

async function noteCompared(context: CliContext, json: boolean): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const noted = await markCompared(sql);
    if (noted > 0) await recordCommand(sql, 'audit --compared', { changes: noted });
    if (json) return printJson(context, { noted });
    if (noted === 0) return printLine(context, 'Nothing to note: no change of the database waits for a comparison.');
    printLine(context, `Noted that ${counted(noted, 'change')} of the database ${noted === 1 ? 'was' : 'were'} compared.`);
  });
}

/** What no audit of this database can prove. */
function printUnknown(context: CliContext, change: DatabaseChange): void {
  printLine(context, `${styled(context, 'red', 'open ')}  ${changeSentences(change)}`);
}

function printAudit(context: CliContext, result: AuditResult | SentResult): void {
  for (const [check, found] of Object.entries(result) as [keyof typeof PROVEN, CheckResult][]) {
    const mark = found.gaps === 0 ? styled(context, 'green', 'whole') : styled(context, 'red', 'gaps ');
    const but = found.gaps === 0 ? '' : `: not so ${counted(found.gaps, 'time')}`;
    printLine(context, `${mark}  ${PROVEN[check](found.checked)}${but}`);
    for (const gap of found.first) printLine(context, `         ${printable(gapText(gap))}`);
    if (found.gaps > found.first.length)
      printLine(context, `         and ${counted(found.gaps - found.first.length, 'more', 'more')}`);
  }
}

function gapText({ site, purchaseId, sequence, detail }: Gap): string {
  const place = [site, purchaseId, sequence === null ? null : `#${sequence}`].filter((part) => part !== null).join(' ');
  return place === '' ? detail : `${place}: ${detail}`;
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Checks that every change of state has its event, that events are numbered without gaps, and that each has exactly one delivery for each subscriber that wants it; lists the gaps (exit code 1). Only reads, while daemons run, too. After a database went back, audit fails until a person has compared.',
    )
    .option('--site <name>', 'only this site')
    .option('--since <duration>', 'only purchases that were registered or changed within this time', durationArgument)
    .option(
      '--sent <file>',
      "compares a receiver's own log instead: ids (webhook-id), one in each line, or JSON as listen writes it; - reads standard input",
    )
    .option('--subscriber <name>', 'whose log it is, when there are several subscribers')
    .addOption(
      new Option(
        '--compared',
        'notes that what the database lost was compared and registered again; doctor, status and audit are silent about it then',
      ).conflicts(['sent', 'site', 'since']),
    )
    .option('--json', 'write JSON')
    .action((options: Options) => auditCommand(context, options));
  examples(command, [
    ['audit', 'everything'],
    ['audit --since 24h', 'what happened in the last day'],
    ['audit --sent received.log --subscriber shop', 'what shop took beside what the database says'],
    ['audit --json | jq .whole', 'for programs'],
  ]);
}

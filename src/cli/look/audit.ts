/** `audit`: proves that each change has its event, and each event its delivery to every subscriber that wants it. */

import {
  type AuditCheck,
  type AuditResult,
  audit,
  type CheckResult,
  compareLog,
  type Gap,
  loggedSubscriber,
  type SentResult,
} from '../../actions/audit.ts';
import { readClock, type Sql } from '../../actions/database.ts';
import { changeBody, changeSentences, markCompared, openChanges } from '../../actions/database-changes.ts';
import { counted, grouped } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { monotonic } from '../../runtime/time.ts';
import { durationArgument, JSON_OPTION } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine, styled } from '../terminal/output.ts';
import { countOn } from '../terminal/progress.ts';
import { recordCommand } from '../terminal/record.ts';
import { requireSite } from '../terminal/site.ts';
import { readLog } from './received-log.ts';

/** The sentence of each check, with the count of rows that it looked at. */
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
  outcomes: (n) => `${counted(n, 'ended purchase')}, each counted by how its rows say that it ended`,
  outcome_hours: (n) => `${counted(n, 'count')} of an hour, each equal to the purchases that it counts`,
  outcome_sums: (n) => `${counted(n, 'sum')} of an hour or a day, each equal to its counts`,
  known: (n) => `${counted(n, 'event')} of the log, each known to the database`,
  arrived: (n) => `${counted(n, 'event')} that the database calls delivered since the first of the log, each in the log`,
};

/** On no terminal a line for so many rows. */
const LINE_EVERY = 100_000;

export const register = declare(
  {
    description:
      'Checks that every change of state has its event, that events are numbered without gaps, and that each has exactly one delivery for each subscriber that wants it; lists the gaps (exit code 1). Only reads, while daemons run, too. After a database went back, audit fails until a person has compared.',
    options: [
      ['--site <name>', 'only this site'],
      ['--since <duration>', 'only purchases that were registered or changed within this time', { read: durationArgument }],
      [
        '--sent <file>',
        "compares a receiver's own log instead: ids (webhook-id), one in each line, or JSON as listen writes it; - reads standard input",
      ],
      ['--subscriber <name>', 'whose log it is, when there are several subscribers'],
      [
        '--compared',
        'notes that what the database lost was compared and registered again; doctor, status and audit are silent about it then',
        { conflicts: ['sent', 'site', 'since'] },
      ],
      JSON_OPTION,
    ],
    examples: [
      ['audit', 'everything'],
      ['audit --since 24h', 'what happened in the last day'],
      ['audit --sent received.log --subscriber shop', 'what shop took beside what the database says'],
      ['audit --json | jq .whole', 'for programs'],
    ],
  },
  async (context, { site, since, sent, subscriber, compared, json }) => {
    if (compared) return noteCompared(context, json);
    if (subscriber !== undefined && sent === undefined) throw new AppError('invalid', '--subscriber: only with --sent');
    await withDatabase(context, async ({ sql }) => {
      await requireSite(sql, site);
      const begun = monotonic();
      const moment = since === undefined ? null : (await readClock(sql)).now - since;
      const checks =
        sent === undefined
          ? await auditRows(context, sql, site ?? null, moment)
          : await auditLog(context, sql, sent, { name: subscriber, since: moment });
      const tookMs = Math.round(monotonic() - begun);
      const gaps = Object.values(checks).reduce((sum, check) => sum + check.gaps, 0);
      const changes = (await openChanges(sql)).filter(({ noticedAt }) => moment === null || noticedAt > moment);
      const whole = gaps === 0 && changes.length === 0;
      if (json) printJson(context, { whole, gaps, tookMs, checks, databaseChanges: changes.map(changeBody) });
      else {
        printAudit(context, checks);
        // No audit of this database can prove that these lost nothing.
        for (const change of changes) printLine(context, `${styled(context, 'red', 'open ')}  ${changeSentences(change)}`);
        printLine(context, styled(context, 'gray', `looked at in ${humanDuration(tookMs)}`));
      }
      if (gaps > 0) throw new AppError('conflict', `${counted(gaps, 'gap')} found; docs/troubleshooting.md says what to do`);
      if (!whole) throw new AppError('conflict', 'what the database lost is not compared yet; docs/troubleshooting.md says how');
    });
  },
);

async function auditRows(context: CliContext, sql: Sql, site: string | null, since: Instant | null): Promise<AuditResult> {
  const progress = countOn(context, LINE_EVERY);
  const onProgress = (kind: string, count: number): void => progress.show(count, `${grouped(count)} ${kind} …`);
  const result = await audit(sql, { site, since, onProgress });
  progress.clear();
  return result;
}

async function auditLog(
  context: CliContext,
  sql: Sql,
  sent: string,
  { name, since }: { name: string | undefined; since: Instant | null },
) {
  const subscriber = await loggedSubscriber(sql, name);
  return compareLog(sql, await readLog(context, sent), { subscriber, since });
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

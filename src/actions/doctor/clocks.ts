/** Compares the clock of this machine with those of the database and of the checkout service. */
import type { Milliseconds } from '../../domain/values/time.ts';
import { readClock, type Sql } from '../../postgres/connection/database.ts';
import { type Finding, offsetInWords, type Reporter, wallClockAt } from '../overview/finding.ts';

const MOST_FROM_DATABASE: Milliseconds = 1_000;
/** A Date header has whole seconds. */
const MOST_FROM_SERVICE: Milliseconds = 5_000;

export async function databaseClock(report: Reporter, sql: Sql): Promise<Finding> {
  const { now, readAt } = await readClock(sql);
  const offset = wallClockAt(readAt) - now;
  const found = `this machine's clock against the database's: ${offsetInWords(offset)}`;
  if (Math.abs(offset) < MOST_FROM_DATABASE) return report.ok(found);
  const todo = 'due times follow the database and stay right; set both clocks by NTP, for signatures and log lines carry them';
  return report.warning(found, todo);
}

/** `offset`: the service's clock minus this machine's; null where no answer showed the service's clock. */
export function siteClock(report: Reporter, asked: readonly { readonly offset: Milliseconds | null }[]): Finding[] {
  const offset = asked.find((each) => each.offset !== null)?.offset ?? null;
  if (offset === null) return [];
  const found = `the service's clock against this machine's: ${Math.abs(offset) < 2_000 ? 'the same' : offsetInWords(offset)}`;
  if (Math.abs(offset) < MOST_FROM_SERVICE) return [report.ok(found)];
  return [report.warning(found, 'set the clock of this machine by NTP; if it is right, tell the operator of the service')];
}

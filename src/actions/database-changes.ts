/** Whether the database is the one that daemons wrote to, for people and programs. */
import { asksForComparison, COMPARE, changeText, type DatabaseChange } from '../domain/incidents/database-loss.ts';
import { lossTrouble, type ReplicaTrouble } from '../domain/incidents/replica-trouble.ts';
import { sentence } from '../domain/values/sentence.ts';
import { isoTime, isoTimeOrNull } from '../domain/values/time.ts';
import type { Queries } from '../postgres/connection/database.ts';
import { markCompared, shownChanges } from '../postgres/shards/database-changes.ts';

export { markCompared };

/** As JSON shows it, with what happened and what to do in `text`; `isOpen`: a person has to compare, and it is not noted that this is done. */
export function changeBody(change: DatabaseChange) {
  const { kind, noticedAt, replica, cameBackTo, knownUntil } = change;
  return {
    kind,
    noticedAt: isoTime(noticedAt),
    replica,
    cameBackTo: isoTimeOrNull(cameBackTo),
    knownUntil: isoTimeOrNull(knownUntil),
    isOpen: asksForComparison(change),
    text: changeSentences(change),
  };
}

/** A change of the database in sentences, with what a person has to do if anything. */
export function changeSentences(change: DatabaseChange): string {
  return `${sentence(changeText(change))}.${asksForComparison(change) ? ` What to do: ${COMPARE}.` : ''}`;
}

/** Losses that a person has yet to compare, as troubles of the daemons that noticed them. */
export async function lossTroubles(sql: Queries): Promise<ReplicaTrouble[]> {
  return (await shownChanges(sql)).filter(({ kind }) => kind === 'went_back').map(lossTrouble);
}

/** The changes after which a person has yet to compare. */
export async function openChanges(sql: Queries): Promise<DatabaseChange[]> {
  return (await shownChanges(sql)).filter(asksForComparison);
}

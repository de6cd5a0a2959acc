/** What exactly is wrong in an incident of a site or of daemons, and what a person does about it. */

import { wordsOfSite } from '../../channels/people/messages/site.ts';
import type { PeopleEventBody } from '../../domain/events/people-event-types.ts';
import {
  isDatabaseLoss,
  REPLICA_WORDS,
  type ReplicaTrouble,
  reasonsOf,
  replicaRemedies,
  sentence,
} from '../../domain/incidents/replica-trouble.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { isUnpolled } from '../../domain/polling/unpolled.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { lossTroubles } from '../database-changes.ts';

export interface Advice {
  /** Sentences. */
  readonly wrong: readonly string[];
  readonly todo: readonly string[];
}

const NONE: Advice = { wrong: [], todo: [] };

/** Advice as of the last alert; of a loss of the database until a person noted that it was compared. Empty for other kinds. */
export async function adviceFor(
  sql: Queries,
  { kind, severity, endsAt, endedAt }: IncidentRow,
  alerted: PeopleEventBody['data'] | null,
): Promise<Advice> {
  const isOver = endsAt !== null || endedAt !== null;
  if (kind === 'unreachable' && !isOver) return adviceForSite(severity, alerted);
  if (kind !== 'replica') return NONE;
  const losses = isDatabaseLoss(severity) ? await lossTroubles(sql) : [];
  const others = alerted?.kind === 'replica' ? alerted.troubles.filter(({ reason }) => reason !== 'database_went_back') : [];
  const left = reasonsOf(others).flatMap((reason) => REPLICA_WORDS[reason].left ?? []);
  const troubles: readonly ReplicaTrouble[] = isOver ? losses : [...losses, ...others];
  return {
    wrong: [...new Set(troubles.map(({ reason, error }) => error ?? `${sentence(REPLICA_WORDS[reason].wrong)}.`))],
    todo: [...replicaRemedies(troubles), ...(isOver ? left : [])],
  };
}

function adviceForSite(severity: number, alerted: PeopleEventBody['data'] | null): Advice {
  const data = alerted?.kind === 'unreachable' ? alerted : null;
  const reason = data?.reason ?? null;
  const said = isUnnamed(severity) && reason !== 'not_moved' ? null : (data?.lastError ?? null);
  const { what, remedy } = wordsOfSite({
    reason: isUnnamed(severity) && !isUnpolled(reason) ? 'not_configured' : reason,
    lastError: said,
  });
  return { wrong: [`${sentence(what)}.`, ...(said === null ? [] : [said])], todo: [remedy] };
}

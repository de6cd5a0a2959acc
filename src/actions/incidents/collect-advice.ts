/** The trouble of an incident in sentences, or a possible cause where none is named, and what a person does about it. */

import { unrankedAdvice } from '../../channels/people/messages/cause-paragraphs.ts';
import { meanwhileOf, wordsOfSite } from '../../channels/people/messages/site.ts';
import type { PeopleEventBody } from '../../domain/events/people-event-types.ts';
import {
  isDatabaseLoss,
  REPLICA_WORDS,
  type ReplicaTrouble,
  reasonsOf,
  replicaRemedies,
} from '../../domain/incidents/replica-trouble.ts';
import { isUnnamed } from '../../domain/incidents/symptom.ts';
import { isUnpolled } from '../../domain/polling/unpolled.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { sentence } from '../../domain/values/sentence.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { lossTroubles } from '../database-changes.ts';

interface Advice {
  /** The troubles, in sentences. */
  readonly wrong: readonly string[];
  readonly todo: readonly string[];
  /** Consequences while the trouble lasts, in sentences. */
  readonly meanwhile: readonly string[];
}

const NONE: Advice = { wrong: [], todo: [], meanwhile: [] };

const SINGLES = {
  rest: 'Until this incident is over, single stuck checkouts alert no person here.',
  replaced: 'From now on incidents are alerted here in the place of single stuck checkouts.',
};

type Alerted = PeopleEventBody['data'] | null;

/** Advice as of the last alert; of a loss of the database until a person noted that it was compared. Empty for receivers. */
export async function adviceFor(sql: Queries, incident: IncidentRow, alerted: Alerted): Promise<Advice> {
  const { kind, severity, endsAt, endedAt } = incident;
  const isOver = endsAt !== null || endedAt !== null;
  if (kind === 'stuck' && !isOver) return adviceForStuck(incident, alerted);
  if (kind === 'unreachable' && !isOver) return adviceForSite(incident, alerted);
  if (kind !== 'replica') return NONE;
  const losses = isDatabaseLoss(severity) ? await lossTroubles(sql) : [];
  const others = alerted?.kind === 'replica' ? alerted.troubles.filter(({ reason }) => reason !== 'database_went_back') : [];
  const left = reasonsOf(others).flatMap((reason) => REPLICA_WORDS[reason].left ?? []);
  const troubles: readonly ReplicaTrouble[] = isOver ? losses : [...losses, ...others];
  const hosts = new Set(troubles.map(({ replica, host }) => `${replica} on ${host}`));
  return {
    wrong: [...new Set(troubles.map(({ reason, error }) => error ?? `${sentence(REPLICA_WORDS[reason].wrong)}.`))],
    todo: [...replicaRemedies(troubles), ...(isOver ? left : [])],
    meanwhile: [
      ...reasonsOf(troubles).map((reason) => `${sentence(REPLICA_WORDS[reason].wrong)}. ${REPLICA_WORDS[reason].meaning}`),
      ...(hosts.size === 0 ? [] : [`Noticed by ${[...hosts].join(', ')}.`]),
    ],
  };
}

/** A possible cause where no documented one is named, and whether single stuck checkouts still alert people. */
function adviceForStuck({ site, state, parts }: IncidentRow, alerted: Alerted): Advice {
  const data = alerted?.kind === 'stuck' ? alerted : null;
  const singles = data?.singles ?? null;
  const meanwhile = singles === null ? [] : [singles.until === 'over' ? SINGLES.rest : SINGLES.replaced];
  if (data?.causes.some(({ why }) => why !== null)) return { ...NONE, meanwhile };
  const own = site === null || state === null ? parts : [{ site, state }];
  const places = own.flatMap((part) =>
    part.site === null || part.state === null ? [] : [{ site: part.site, state: namedState(part.state) }],
  );
  const { cause, remedy } = unrankedAdvice(data === null || data.parts.length === 0 ? places : data.parts);
  return { wrong: [cause], todo: [remedy], meanwhile };
}

function adviceForSite({ severity, since }: IncidentRow, alerted: Alerted): Advice {
  const data = alerted?.kind === 'unreachable' ? alerted : null;
  const reason = data?.reason ?? null;
  const said = isUnnamed(severity) && reason !== 'not_moved' ? null : (data?.lastError ?? null);
  const shown = isUnnamed(severity) && !isUnpolled(reason) ? 'not_configured' : reason;
  const { what, remedy } = wordsOfSite({ reason: shown, lastError: said });
  return {
    wrong: [`${sentence(what)}.`, ...(said === null ? [] : [said])],
    todo: [remedy],
    meanwhile: [meanwhileOf({ reason: shown, since, lastReadAt: data?.lastReadAt ?? null })],
  };
}

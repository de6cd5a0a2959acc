/** Checks of what people write about incidents and silences: each answers the meaning, or the error with what to do. */

import { suggestion } from '../../config/kinds/nearest.ts';
import { CAUSES, type CauseKey } from '../../domain/incidents/causes.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Instant } from '../../domain/values/time.ts';
import { readMoment } from '../subscribers/moment.ts';
import type { Checked } from '../subscribers/rules.ts';

export const INCIDENT_KINDS = ['stuck', 'unreachable', 'subscriber', 'replica'] as const satisfies readonly IncidentKind[];
export const CAUSE_KEYS = Object.keys(CAUSES) as CauseKey[];

/** Characters of a name, of a note, and of the reason of a silence at most, as the database keeps them. */
export const LONGEST_NAME = 200;
export const LONGEST_NOTE = 1_000;
export const LONGEST_REASON = 500;

/** One of a few words; `what` says what they are. */
export function readWord<Word extends string>(value: string, words: readonly Word[], what: string): Checked<Word> {
  const word = words.find((each) => each === value);
  if (word !== undefined) return { is: word };
  return { problem: `is no ${what}${suggestion(value.slice(0, 100), words)}; there are ${words.join(', ')}` };
}

/** A cause that an incident may have had. */
export const readCause = (value: string): Checked<CauseKey> => readWord(value, CAUSE_KEYS, 'cause');

/** Some words of a person; `what` says what is wanted when there are none. */
export function readWords(value: string, longest: number, what: string): Checked<string> {
  if (value.trim() === '') return { problem: `is empty; give ${what}` };
  if ([...value].length > longest) return { problem: `is longer than ${longest} characters` };
  if (!value.isWellFormed() || value.includes('\u0000')) return { problem: 'contains invalid Unicode' };
  return { is: value };
}

/** The form of an incident's id; the database knows whether there is such an incident. */
export const INCIDENT_ID = /^[\w-]{1,60}$/;

export function readIncidentId(value: string): Checked<string> {
  if (INCIDENT_ID.test(value)) return { is: value };
  return { problem: 'is not an incident id; incident ids look like inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2' };
}

/** A moment to come, as a time or as a duration; its meaning depends on the database's clock. */
export function readComing(value: string): Checked<(now: Instant) => Instant> {
  const ahead = parseDuration(value);
  if (ahead !== null) return { is: (now) => now + ahead };
  const read = readMoment(value, 0);
  return 'is' in read
    ? { is: () => read.is }
    : { problem: 'must be a time with its zone such as 2026-11-20T09:15:00Z, or a duration from now such as 2h' };
}

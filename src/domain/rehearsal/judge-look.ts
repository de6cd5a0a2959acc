/** What the judge knows between two looks, and how a judgement changes it. Pure. */

import type { Detection } from '../incidents/detection.ts';
import { type Incident, REOPENS_WITHIN } from '../incidents/incident.ts';
import { type Judgement, judge, type Situation, type Told } from '../incidents/judgement.ts';
import type { Instant } from '../values/time.ts';
import { placeKey } from './happenings.ts';

export interface Memory {
  readonly detections: readonly Detection[];
  readonly incidents: readonly Incident[];
  /** By incident, the channels that were told of it. */
  readonly heard: ReadonlyMap<string, ReadonlySet<string>>;
  /** Incidents made so far, for the id of the next one. */
  readonly made: number;
}

export const NOTHING_KNOWN: Memory = { detections: [], incidents: [], heard: new Map(), made: 0 };

export function openOf({ incidents }: Memory): Incident[] {
  return incidents.filter(({ endedAt }) => endedAt === null);
}

/** Judges once, from what is known and what is the case now. */
export function judgeOnce(
  memory: Memory,
  situation: Omit<Situation, 'incidents' | 'heard' | 'newId'>,
): { readonly memory: Memory; readonly judgement: Judgement } {
  const known = stillKnown(memory, situation.now);
  let { made } = memory;
  const judgement = judge({
    ...situation,
    incidents: known,
    heard: (incident) => [...(memory.heard.get(incident) ?? [])],
    newId: () => `rehearsed-${++made}`,
  });
  const { verdicts } = judgement;
  const judged = new Map(judgement.detections.map((each) => [placeKey(each), each]));
  const detections = situation.detections.map((each) => judged.get(placeKey(each)) ?? each);
  const incidents = withChanges(
    known,
    verdicts.map(({ incident }) => incident),
  );
  return { memory: { detections, incidents, heard: withMessages(memory.heard, verdicts), made }, judgement };
}

/** Open incidents, ended ones that may open again, and the parts of open ones. */
function stillKnown(memory: Memory, now: Instant): Incident[] {
  const open = new Set(openOf(memory).map(({ id }) => id));
  return memory.incidents.filter(
    ({ endedAt, kind, parent }) =>
      endedAt === null || (kind === 'stuck' && now - endedAt < REOPENS_WITHIN) || (parent !== null && open.has(parent)),
  );
}

function withChanges(known: readonly Incident[], changed: readonly Incident[]): Incident[] {
  // A map keeps the place of what it knew and puts what is new at its end.
  return [...new Map([...known, ...changed].map((incident) => [incident.id, incident])).values()];
}

function withMessages(heard: Memory['heard'], verdicts: readonly Told[]): Memory['heard'] {
  const told = verdicts.flatMap(({ incident, messages }) =>
    messages.flatMap(({ channels }) => channels.map((name) => ({ id: incident.id, name }))),
  );
  if (told.length === 0) return heard;
  const after = new Map(heard);
  for (const { id, name } of told) after.set(id, new Set(after.get(id)).add(name));
  return after;
}

/** The memory of the judge between two looks, and how a judgement changes it. Pure. */

import type { Detection } from '../incidents/detection.ts';
import { type Incident, REOPENS_WITHIN } from '../incidents/incident.ts';
import { type IncidentVerdict, type Judgement, judge, type Situation } from '../incidents/judgement.ts';
import { placeKey } from '../stays/stay.ts';
import type { Instant } from '../values/time.ts';

export interface Memory {
  readonly detections: readonly Detection[];
  readonly incidents: readonly Incident[];
  /** By incident, the channels that were alerted of it. */
  readonly alertedChannels: ReadonlyMap<string, ReadonlySet<string>>;
  /** Incidents made so far, for the id of the next one. */
  readonly made: number;
}

export const NOTHING_KNOWN: Memory = { detections: [], incidents: [], alertedChannels: new Map(), made: 0 };

export function openOf({ incidents }: Memory): Incident[] {
  return incidents.filter(({ endedAt }) => endedAt === null);
}

/** Judges once, from what is known and what is the case now. */
export function judgeOnce(
  memory: Memory,
  situation: Omit<Situation, 'incidents' | 'alertedChannels' | 'newId'>,
): { readonly memory: Memory; readonly judgement: Judgement } {
  const known = stillKnown(memory, situation.now);
  let { made } = memory;
  const judgement = judge({
    ...situation,
    incidents: known,
    alertedChannels: (incident) => [...(memory.alertedChannels.get(incident) ?? [])],
    newId: () => `rehearsed-${++made}`,
  });
  const { verdicts } = judgement;
  const judged = new Map(judgement.detections.map((each) => [placeKey(each), each]));
  const detections = situation.detections.map((each) => judged.get(placeKey(each)) ?? each);
  // A map keeps the place of what it knew and puts what is new at its end.
  const incidents = [...new Map([...known, ...verdicts.map((each) => each.incident)].map((each) => [each.id, each])).values()];
  return { memory: { detections, incidents, alertedChannels: withMessages(memory.alertedChannels, verdicts), made }, judgement };
}

/** Open incidents, ended ones that may open again, and the parts of open ones. */
function stillKnown(memory: Memory, now: Instant): Incident[] {
  const open = new Set<string | null>(openOf(memory).map(({ id }) => id));
  return memory.incidents.filter(
    ({ endedAt, kind, parent }) => endedAt === null || (kind === 'stuck' && now - endedAt < REOPENS_WITHIN) || open.has(parent),
  );
}

function withMessages(before: Memory['alertedChannels'], verdicts: readonly IncidentVerdict[]): Memory['alertedChannels'] {
  const alerted = verdicts.flatMap(({ incident, messages }) =>
    messages.flatMap(({ channels }) => channels.map((name) => ({ id: incident.id, name }))),
  );
  const after = new Map(before);
  for (const { id, name } of alerted) after.set(id, new Set(after.get(id)).add(name));
  return after;
}

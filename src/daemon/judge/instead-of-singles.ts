/** The part of an alert about stuck customers that is about the single stuck checkouts it stands for. */

import { type ChannelRule, modeOf } from '../../domain/incidents/audience.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import type { IncidentVerdict } from '../../domain/incidents/judgement.ts';
import { isShareKnown } from '../../domain/incidents/stuck-checkouts.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { singlePlaces } from '../../postgres/incidents/stuck-alerts.ts';
import { RECENT, type UsualReader } from './usual.ts';

export interface InsteadOfSingles {
  /** `{until: "over", …}` while single alerts come back with its end, `{until: null, …}` when incidents take over; null: nothing changes. */
  readonly singles: { readonly until: 'over' | null; readonly counted: number; readonly perDay: number | null } | null;
  /** Row ids of the last single alerts at the places that incidents take over from here on. */
  readonly takenOver: readonly number[];
}

const NOTHING: InsteadOfSingles = { singles: null, takenOver: [] };

/** Read when an incident's start is announced: from then on people get no alerts about single checkouts in its state. */
export async function insteadOfSingles(
  sql: Sql,
  { alert, incident, parts, messages }: IncidentVerdict,
  { channels, usual, now }: { readonly channels: readonly ChannelRule[]; readonly usual: UsualReader; readonly now: Instant },
): Promise<InsteadOfSingles> {
  const reached = channels.filter(({ name }) => messages.some((message) => message.channels.includes(name)));
  const isNew = alert === 'opened' || alert === 'reopened';
  if (!isNew || !reached.some((channel) => modeOf(channel) === 'auto')) return NOTHING;
  await usual.refresh(now, RECENT);
  const places = [incident, ...parts].filter(isLeaf).map(({ site, state }) => ({ site: site!, state: state! }));
  const judged = places.filter(({ site, state }) => isShareKnown(usual.of(site, state)));
  const taken = await singlePlaces(sql, judged);
  const [first] = taken;
  if (first !== undefined) {
    const { counted, perDay } = usual.of(first.site, first.state);
    return { singles: { until: null, counted, perDay }, takenOver: taken.map(({ id }) => id) };
  }
  const single = places.filter((place) => !judged.includes(place));
  if (single.length === 0) return NOTHING;
  const { counted, perDay } = usual.of(single[0]!.site, single[0]!.state);
  return { singles: { until: 'over', counted, perDay }, takenOver: [] };
}

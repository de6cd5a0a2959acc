/** The part of an alert about stuck customers that is about the single stuck checkouts it stands for. */

import { type ChannelRule, modeOf } from '../../domain/incidents/audience.ts';
import type { Incident } from '../../domain/incidents/incident.ts';
import { isLeaf } from '../../domain/incidents/incident-tree.ts';
import type { IncidentVerdict } from '../../domain/incidents/judgement.ts';
import { isShareKnown } from '../../domain/incidents/stuck-checkouts.ts';
import type { SinglePlace } from '../../postgres/incidents/stuck-alerts.ts';
import type { UsualReader } from '../../postgres/stays/usual.ts';

export interface InsteadOfSingles {
  /** `{until: "over", …}` while single alerts come back with its end, `{until: null, …}` when incidents take over; null: nothing changes. */
  readonly singles: { readonly until: 'over' | null; readonly counted: number; readonly perDay: number | null } | null;
  /** Row ids of the last single alerts at the places that incidents take over from here on. */
  readonly takenOver: readonly number[];
}

const NOTHING: InsteadOfSingles = { singles: null, takenOver: [] };

/** Whether a message of an incident's start goes to a channel that is alerted of single checkouts: from then on the channel is alerted of none in its state. */
export function replacesSingles({ alert, messages }: IncidentVerdict, channels: readonly ChannelRule[]): boolean {
  const reached = channels.filter(({ name }) => messages.some((message) => message.channels.includes(name)));
  return (alert === 'opened' || alert === 'reopened') && reached.some((channel) => modeOf(channel) === 'auto');
}

/** `singles`: the last single alerts at the incident's places; null when it replaces none. */
export function insteadOfSingles(
  { incident, parts }: IncidentVerdict,
  singles: readonly SinglePlace[] | null,
  usualOf: UsualReader['of'],
): InsteadOfSingles {
  if (singles === null) return NOTHING;
  const isJudged = ({ site, state }: Pick<Incident, 'site' | 'state'>): boolean => isShareKnown(usualOf(site!, state!));
  const taken = singles.filter(isJudged);
  const [first] = taken;
  const place = first ?? [incident, ...parts].filter(isLeaf).find((leaf) => !isJudged(leaf));
  if (place === undefined) return NOTHING;
  const { counted, perDay } = usualOf(place.site!, place.state!);
  return { singles: { until: first === undefined ? 'over' : null, counted, perDay }, takenOver: taken.map(({ id }) => id) };
}

/** Each kind of need in words, with where in the console it is met. Pure. */
import { NO_CHANNEL } from '../../domain/explain/standing.ts';
import { areFewerThanUsual } from '../../domain/flow/flow.ts';
import { type Level, levelOf } from '../../domain/incidents/incident.ts';
import { isKnownState, stateName, statePlace } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { counted } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { clause } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { MOST_FAILING } from '../../postgres/subscribers/trouble.ts';
import { placeOf, whatOf } from '../incidents/words.ts';
import type { OverviewFacts } from './facts.ts';
import type { Finding } from './finding.ts';

/** Stuck purchases that a need names. */
const MOST_NAMED = 3;

/** Subjects of needs; within a severity the needs stand in this order. */
export const NEED_KINDS = [
  'incident',
  'channel',
  'replica',
  'database',
  'subscriber',
  'site',
  'stuck',
  'purchase',
  'settings',
  'flow',
] as const;
export type NeedKind = (typeof NEED_KINDS)[number];

/** Something that needs a person. No part of it holds a clock time: each page and command shows times in a zone of its own. */
export interface Need {
  readonly kind: NeedKind;
  /** The thing, such as `site se`, `receiver books` or `incident inc_…`. */
  readonly about: string;
  readonly severity: Level;
  /** The trouble, as a sentence without its full stop. */
  readonly text: string;
  /** When the trouble began; null where that is not known. */
  readonly since: Instant | null;
  /** The reason as far as known, as a sentence without its full stop; null where nothing is known. */
  readonly why: string | null;
  /** Advice for the operator, as a clause. */
  readonly todo: string;
  /** Where in the console a person acts on it: a path below the console's address, with the words of the link. */
  readonly action: { readonly path: string; readonly label: string };
  /** The open incident that the need is; null for others. */
  readonly incident: string | null;
}

/** A need that is no incident, and of which neither beginning nor reason is known. */
const WARNING = { severity: 'warning', since: null, why: null, incident: null } as const;

/** An incident in which something is wrong: others end by themselves. */
export const isActive = ({ endsAt }: Pick<IncidentRow, 'endsAt'>): boolean => endsAt === null;

/**
 * An open incident, with who looks after it and whether a silence keeps people from being alerted. What is found of its subscriber or
 * site now says more of the reason than the incident does.
 */
export function incidentNeed(incident: IncidentRow, { now }: OverviewFacts, findings: readonly Finding[] = []): Need {
  const { id, kind, acknowledgedAt, acknowledgedBy, silencedUntil, since } = incident;
  const of = kind === 'subscriber' ? `receiver ${incident.subscriber}` : kind === 'unreachable' ? `site ${incident.site}` : null;
  const brief = findings.find(({ about, verdict }) => about === of && verdict !== 'ok')?.brief ?? null;
  const silence =
    silencedUntil === null ? null : `Alerts are silenced for ${humanDuration(Math.max(silencedUntil - now, 0))} more`;
  const owner = acknowledgedAt === null ? 'No person looks after it yet' : `${acknowledgedBy ?? 'A person'} looks after it`;
  return {
    kind: 'incident',
    about: `incident ${id}`,
    severity: levelOf(incident),
    text: brief?.what ?? `${placeOf(incident)}: ${whatOf(incident)}`,
    since: brief?.since ?? since,
    why: [brief?.why ?? null, silence, owner].filter((part) => part !== null).join('. '),
    todo: `see "${commandLine`incidents show ${id}`}"`,
    action: { path: `/incidents/${id}`, label: acknowledgedAt === null ? 'Open and acknowledge' : 'Look' },
    incident: id,
  };
}

/** A trouble is open, and there is no channel that could say so. */
export function unheardNeeds({ subscribers }: OverviewFacts): Need[] {
  if (subscribers.some(({ audience }) => audience === 'people')) return [];
  const todo = 'set SLACK_WEBHOOK_URL, or a channel in the settings file';
  const action = { path: '/channels', label: 'Set a channel' };
  return [{ ...WARNING, kind: 'channel', about: 'channels', text: NO_CHANNEL, todo, action }];
}

/** Events that a subscriber misses, because their deliveries were given up and not sent again since. */
export function lostNeeds({ lost }: OverviewFacts): Need[] {
  return lost.map(({ name, count, since }) => ({
    ...WARNING,
    kind: 'subscriber',
    about: `receiver ${name}`,
    since,
    text: `${name} misses ${counted(count, 'event', 'events', MOST_FAILING)}: ${count === 1 ? 'its delivery was' : 'their deliveries were'} given up`,
    todo: `send them again once it takes events: "${commandLine`deliveries retry --subscriber ${name}`}"`,
    action: { path: `/subscribers/${encodeURIComponent(name)}`, label: 'Look, and send again' },
  }));
}

/** Stuck purchases that no incident with an alarm counts: of one place by its name, of several together. */
export function stuckNeeds({ counts, incidents, stuck: longest, now }: OverviewFacts): Need[] {
  const inIncident = incidents
    .filter(isActive)
    .filter(({ kind }) => kind === 'stuck')
    .flatMap((incident) => [incident, ...incident.parts.filter(({ endedAt }) => endedAt === null)]);
  const isLone = (at: { site: string; state: number | null }): boolean =>
    !inIncident.some((place) => place.site === at.site && place.state === at.state);
  const places = counts.filter((row) => row.stuck > 0 && isLone(row));
  const [first, another] = places;
  if (first === undefined) return [];
  const { site, state } = first;
  const total = places.reduce((sum, { stuck }) => sum + stuck, 0);
  const named = longest.filter(isLone).slice(0, MOST_NAMED);
  const one = ({ order, purchaseId, state: at, stateSince }: (typeof named)[number]): string =>
    `${order ?? purchaseId} ${statePlace(at)} for ${humanDuration(Math.floor(Math.max(now - stateSince, 0) / 1_000) * 1_000)}`;
  const here = state === null ? 'in no known state' : statePlace(state);
  const where = another === undefined ? here : `at ${placesText(places)}`;
  const query = new URLSearchParams({
    stuck: 'true',
    ...(another === undefined && {
      site,
      ...(state !== null && { state: isKnownState(state) ? stateName(state) : String(state) }),
    }),
  });
  return [
    {
      ...WARNING,
      kind: 'stuck',
      about: another === undefined ? `site ${site}` : 'purchases',
      text: `${another === undefined ? `${site}: ` : ''}${counted(total, 'purchase is', 'purchases are')} stuck ${where}`,
      since: named[0]?.stateSince ?? null,
      why: named.length === 0 ? null : `${named.map(one).join(', ')}${total > named.length ? ', and more' : ''}`,
      todo: 'see why, and help the customer on: the list of stuck purchases is in the console, "purchase-watch why <id>" says more of one',
      action: { path: `/purchases?${query}`, label: 'See who' },
    },
  ];
}

/** `2 places of 1 site`. */
function placesText(places: OverviewFacts['counts']): string {
  const sites = new Set(places.map(({ site }) => site)).size;
  return `${counted(places.length, 'place')} of ${counted(sites, 'site')}`;
}

/** Purchases of which lately no answer could be used or recorded. */
export function unreadableNeeds({ unreadable }: OverviewFacts): Need[] {
  const [first] = unreadable;
  if (first === undefined) return [];
  const { site, purchaseId, lastError, since } = first;
  const rest = unreadable.length === 1 ? '' : ` (and ${counted(unreadable.length - 1, 'more purchase', 'more purchases')})`;
  return [
    {
      ...WARNING,
      kind: 'purchase',
      about: `purchase ${purchaseId}`,
      since,
      text: `${site}: purchase ${purchaseId} cannot be read${rest}`,
      why: clause(lastError ?? 'No reason is known'),
      todo: `see "${commandLine`why ${purchaseId} --site ${site}`}", and ask the service's operator about the answer`,
      action: { path: `/purchases/${encodeURIComponent(site)}/${encodeURIComponent(purchaseId)}`, label: 'Look' },
    },
  ];
}

/** Fewer purchases complete than at this hour of other days. */
export function fewerThanUsual({ completions }: OverviewFacts): Need[] {
  if (!areFewerThanUsual(completions)) return [];
  const { completed, usual } = completions;
  return [
    {
      ...WARNING,
      kind: 'flow',
      about: 'purchases',
      text: `Fewer purchases complete than usual: ${Math.round(completed)} in the hour, usually ${Math.round(usual ?? 0)}`,
      action: { path: '/purchases', label: 'See the purchases' },
      todo: 'compare with the orders of the shop: fewer customers may have come, or customers may be lost before they are registered here',
    },
  ];
}

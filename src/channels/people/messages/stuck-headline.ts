/** The headline of a message about stuck purchases, and the parts of it that other messages repeat. All of it markup. */

import type { NamedState } from '../../../domain/purchases/states.ts';
import { grouped } from '../../../domain/values/counts.ts';
import type { StuckIncident, StuckPart } from '../events/stuck-event.ts';
import { customers, LONGEST_HEADLINE, LONGEST_NAME, lasting, OVER, signOf, waitingFor } from './draft.ts';
import { plain } from './mrkdwn.ts';

/** The headline: trouble, place, how many, since when, in at most 150 characters. */
export function stuckHeadline(incident: StuckIncident): string {
  const { stage, count, at, since, test } = incident;
  const isOver = stage === 'ended';
  const place = stuckPlace(incident);
  const again = { opened: '', reopened: 'again ', grew: 'now ', reminder: 'still ', ended: '' }[stage];
  const oldest = count === 0 ? '' : `, ${count === 1 ? '' : 'the oldest '}for ${lasting(since, at)}`;
  const rest = isOver
    ? `no longer stuck ${place}, after ${lasting(beganAt(incident), incident.endedAt ?? at)}`
    : `${again}${customers(count)} stuck ${place}${oldest}`;
  const sign = `${isOver ? OVER : signOf(incident)} ${test ? 'TEST: ' : ''}`;
  const lines = [true, false].map((named) => `${sign}${stuckWhere(incident, named)}: ${rest}`);
  return lines.find((line) => line.length <= LONGEST_HEADLINE) ?? lines.at(-1)!;
}

/** Since when it is known that something is wrong, and not only with a single customer. */
export function beganAt({ alarm, openedAt }: StuckIncident): number {
  return Math.min(alarm?.since ?? openedAt, openedAt);
}

/** A site, or how many: `3 sites at once (dk, no, se)`, `1 of 3 sites (se)`. */
export function stuckWhere({ site, parts, includes, stage }: StuckIncident, named: boolean): string {
  if (site !== null) return plain(site, LONGEST_NAME);
  const all = new Set(parts.map((part) => part.site)).size;
  // An event names the larger parts of very many only.
  if (includes.length > parts.length) return `At least ${grouped(all)} sites${stage === 'ended' ? '' : ' at once'}`;
  const now = [...new Set(affected(parts).map((part) => part.site))].sort();
  if (all === 1) return plain(now[0]!, LONGEST_NAME);
  const names = named ? ` (${now.map((name) => plain(name, LONGEST_NAME)).join(', ')})` : '';
  if (now.length < all) return `${grouped(now.length)} of ${grouped(all)} sites${names}`;
  return `${grouped(all)} sites${stage === 'ended' ? '' : ' at once'}${names}`;
}

/** Where customers are, in words that follow "stuck". */
export function stuckPlace({ state, parts, stage }: StuckIncident): string {
  const states = new Map<number, NamedState>(affected(parts).map((part) => [part.state.value, part.state]));
  const [first] = states.values();
  const only = state ?? (states.size === 1 ? first! : null);
  if (only !== null) return waitingFor(only);
  return `in ${states.size} states${stage === 'ended' ? '' : ' at once'}`;
}

/** Parts that are not over; all when all are. */
export function affected(parts: readonly StuckPart[]): readonly StuckPart[] {
  const open = parts.filter(({ ended }) => !ended);
  return open.length === 0 ? parts : open;
}

/** Order, shape and coming end of incidents, for lists and pages. */
import type { IncidentBody, ListedIncidentBody } from '../../api/incidents/fields.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import type { Shape } from '../frame/icons.ts';
import { when } from './time.ts';

type Coming = Pick<IncidentBody, 'endsAt' | 'endsUnless'>;
type Ranked = Pick<ListedIncidentBody, 'severity' | 'count' | 'endsAt'>;

const RANK = { critical: 0, warning: 1 };

/** Order of incidents: those that end by themselves last, the worst first. */
export function worstFirst(a: Ranked, b: Ranked): number {
  return Number(a.endsAt !== null) - Number(b.endsAt !== null) || RANK[a.severity] - RANK[b.severity] || b.count - a.count;
}

/** An incident in which nothing is wrong any more waits for its end; it asks nothing of a person. */
export function shapeOf({ severity, endsAt }: Ranked): Shape {
  return endsAt === null ? severity : 'waiting';
}

/** `ends in 29 min unless another customer gets stuck`; nothing while something is wrong. */
export function comingEnd({ endsAt, endsUnless }: Coming, now: number): Html {
  return endsAt === null ? NOTHING : html`ends ${when(endsAt, now)} ${endsUnless}`;
}

/** Counts in the navigation: only where something needs a person. */
import type { OverviewBody } from '../../api/overview/overview.ts';
import type { Shape } from './icons.ts';
import type { Place } from './place.ts';

export interface Badge {
  readonly shape: Shape;
  readonly count: number;
  /** For screen readers and the pointer. */
  readonly says: string;
}

export type Badges = Partial<Readonly<Record<Place, Badge>>>;

/** From how everything is. */
export function badgesOf({ incidents, subscribers }: Pick<OverviewBody, 'incidents' | 'subscribers'>): Badges {
  const troubled = subscribers.filter(({ status, health }) => status === 'active' && health.status !== 'ok').length;
  return {
    ...(incidents.open > 0 && { incidents: { shape: incidents.severity ?? 'warning', count: incidents.open, says: 'open' } }),
    ...(troubled > 0 && { subscribers: { shape: 'paused' as const, count: troubled, says: 'not getting events as usual' } }),
  };
}

/** Silences in words, and which open incidents they hold back: pages of silences and of incidents share them. */
import type { IncidentBody, SilenceBody } from '../../api/incidents/fields.ts';
import { silencedUntil } from '../../domain/incidents/incident.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { counted } from '../../domain/values/counts.ts';
import type { Listed } from '../frame/api-calls.ts';
import type { Ask } from '../frame/page-route.ts';

/** Open incidents that a silence is compared with; more are counted as "or more". */
const MOST_COMPARED = 200;

/** The fields by which a silence matches; null matches everything. */
export type SilenceScope = Pick<SilenceBody, 'site' | 'state' | 'kind' | 'subscriber'>;

/** `demo-se, waiting for the card provider (WaitingForCardPayments)`; what is not named matches everything. */
export function scopeText({ site, state, kind, subscriber }: SilenceScope): string {
  const named = [site, state === null ? null : stateBoth(state.value), subscriber].filter((each) => each !== null);
  const about = kind === null ? [] : [`incidents of kind ${kind}`];
  return [...named, ...(subscriber === null ? about : [])].join(', ') || 'everything';
}

/** The open incidents, as many as are compared. */
export async function openIncidents({ api }: Ask): Promise<{ open: readonly IncidentBody[]; atLeast: boolean }> {
  const query = { status: 'open', limit: MOST_COMPARED, money: false };
  const { data, nextCursor } = await api.get<Listed<IncidentBody>>('/v1/incidents', query);
  return { open: data, atLeast: nextCursor !== null };
}

/** The incidents that a silence matches, whether it holds already or not. */
export function matching<Incident extends Pick<IncidentBody, 'kind' | 'site' | 'state' | 'subscriber'>>(
  scope: SilenceScope,
  incidents: readonly Incident[],
): Incident[] {
  const silence = { ...scope, state: scope.state?.value ?? null, startsAt: 0, endsAt: 1 };
  return incidents.filter(
    (incident) => silencedUntil({ ...incident, state: incident.state?.value ?? null }, [silence], 0) !== null,
  );
}

/** `2 open incidents`, `200 or more open incidents`. */
export function openCount(count: number, atLeast: boolean): string {
  return counted(count, 'open incident', 'open incidents', atLeast ? count : null);
}

/** Troubles that would keep an incident from its end while nothing is wrong any more, in words for people. Pure. */

import type { Incident } from './incident.ts';
import { type ReplicaTroubleReason, worstReason } from './replica-trouble.ts';
import { isUnnamed } from './symptom.ts';

const AGAIN: Readonly<Partial<Record<ReplicaTroubleReason, string>>> = {
  settings_differ: 'unless settings differ again',
  two_primaries: 'unless a second server takes writes again',
  database_went_back: 'unless the database loses writes again',
};

/** A clause that follows when the incident ends. */
export function endsUnless({ kind, severity }: Pick<Incident, 'kind' | 'severity'>): string {
  if (kind === 'stuck') return 'unless another customer gets stuck';
  if (kind === 'subscriber') return 'unless deliveries fail again';
  if (kind === 'unreachable')
    return isUnnamed(severity) ? 'unless every daemon leaves the site out again' : 'unless calls fail again';
  return AGAIN[worstReason(severity) ?? 'not_recording'] ?? 'unless a daemon fails at its work again';
}

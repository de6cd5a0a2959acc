/** How replicas call sites now, as the API and the commands' JSON show it. */
import { isoTime, isoTimeOrNull } from '../../domain/values/time.ts';
import type { SiteCallsRow } from '../../postgres/polling/site-calls.ts';

/** One replica's calls to one site. */
export function siteCallsBody({ replica, writtenAt, breaker, cause, since, nextProbeAt, ...row }: SiteCallsRow) {
  const { token, callsPerSecond, ceiling } = row;
  return {
    replica,
    writtenAt: isoTime(writtenAt),
    breaker: { state: breaker, cause, since: isoTime(since), nextProbeAt: isoTimeOrNull(nextProbeAt) },
    calls: { perSecond: callsPerSecond, ceiling },
    token:
      token === null
        ? null
        : {
            fetchedAt: isoTimeOrNull(token.fetchedAt),
            expiresAt: isoTimeOrNull(token.expiresAt),
            refusedAt: isoTimeOrNull(token.refusedAt),
            refusal: token.refusal,
          },
  };
}

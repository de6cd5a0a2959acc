/** Events about incidents as alerts of Alertmanager's API v2 (`POST /api/v2/alerts`). */

import { INCIDENT_STAGES } from '../../domain/events/people-event-types.ts';
import { HOUR, type Instant, isoTime } from '../../domain/values/time.ts';
import type { OutgoingEvent } from '../outgoing/channel.ts';
import { readIncidentEvent } from '../people/events/incident-event.ts';
import { fitted } from '../people/messages/draft.ts';
import { draftOf } from '../people/messages/message.ts';
import { unmarked } from '../people/messages/mrkdwn.ts';

export interface Alert {
  /** Alertmanager knows an alert by all of its labels, so each label is the same from the beginning of the incident to its end. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** ISO 8601 times. */
  readonly startsAt: string;
  readonly endsAt: string;
  /** The incident's page of the console. */
  readonly generatorURL?: string;
}

const LEVELS = ['critical', 'warning'] as const;
/** How long an alert stays after its last repetition, so that a daemon or a database that is away for a while ends none. */
const STAYS = HOUR;
/** Characters of the text; receivers such as PagerDuty cut it anyway. */
const LONGEST = 4_000;

/**
 * An alert for each severity that the incident may have: the present one fires, unless the incident is over; the others have ended. That
 * closes the warning of an incident that became critical. None for an event that is not about an incident.
 */
export function alertsOf(
  { body, type }: OutgoingEvent,
  { now, consoleUrl }: { now: Instant; consoleUrl: string | null },
): Alert[] {
  const event = readIncidentEvent(body);
  if (!('stage' in event) || !INCIDENT_STAGES.includes(event.stage)) return [];
  const { incidentId, kind, severity, openedAt, test } = event;
  const draft = draftOf(event, consoleUrl);
  const pieces = fitted(draft, (some) => textOf(some).length <= LONGEST);
  const annotations = { summary: unmarked(draft.headline), description: textOf(pieces) };
  return LEVELS.map((level) => {
    const isFiring = type !== 'incident.ended' && level === (severity ?? 'critical');
    return {
      labels: {
        alertname: 'PurchaseWatchIncident',
        incident: incidentId,
        kind,
        severity: level,
        ...placeOf(event),
        ...(test && { test: 'true' }),
      },
      annotations,
      startsAt: isoTime(Math.min(openedAt, now)),
      endsAt: isoTime(isFiring ? now + STAYS : now),
      ...(draft.page !== undefined && { generatorURL: draft.page }),
    };
  });
}

/** The subject of an incident, as labels. The state of one at several sites changes with its parts, so that state is no label. */
function placeOf(event: Extract<ReturnType<typeof readIncidentEvent>, { stage: unknown }>): Record<string, string> {
  if (event.kind === 'subscriber') return { subscriber: event.subscriber };
  if (event.kind === 'replica' || event.site === null) return {};
  if (event.kind === 'unreachable' || event.state === null) return { site: event.site };
  return { site: event.site, state: event.state.name };
}

function textOf(pieces: ReturnType<typeof fitted>): string {
  return pieces.map(({ label, text }) => (label === '' ? unmarked(text) : `${label}: ${unmarked(text)}`)).join('\n');
}

/** The facts that a developer needs to find the fault, as text to copy. */
import type { IncidentCustomersBody } from '../../../api/incidents/customers.ts';
import type { IncidentDetailsBody } from '../../../api/incidents/fields.ts';
import { CAUSES, isCauseKey } from '../../../domain/incidents/causes.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel } from '../../parts/lists.ts';
import { exactTime, inPageZone } from '../../parts/time.ts';

const MOST_IDS = 3;

/** Nothing for an incident that is over, or is about no customers. */
export function forDeveloper(incident: IncidentDetailsBody, customers: IncidentCustomersBody, { origin }: Ask): Html {
  if (incident.kind !== 'stuck' || incident.endedAt !== null) return NOTHING;
  const { id, where, what, causes, todo, wrong } = incident;
  const { places, data } = customers;
  const lines = places.map(({ site, state, since, came, usualShare }) => {
    const share = came === null ? '' : `: ${came.overdue} of ${counted(came.of, 'customer')} did not get on in time`;
    return `${site}, ${state.name}, since ${atTime(since)}${share}${share === '' || usualShare === null ? '' : `, usually ${Math.round(usualShare * 1_000) / 10} in 100`}`;
  });
  const [cause] = causes;
  const known = cause !== undefined && isCauseKey(cause.cause) ? CAUSES[cause.cause] : null;
  const ids = data.slice(0, MOST_IDS).map(({ site, purchaseId }) => `${purchaseId}${places.length > 1 ? ` (${site})` : ''}`);
  const text = [
    `${where}: ${what}`,
    ...lines,
    ...(ids.length === 0 ? [] : ['', 'Purchases that wait longest:', ...ids]),
    '',
    ...(cause === undefined ? wrong : [`${cause.title}. ${known?.cause ?? ''}`.trim(), `Why: ${inPageZone(cause.why)}`]),
    ...(cause === undefined ? todo : [cause.remedy ?? '']).map((remedy) => `Try: ${remedy}`),
    '',
    `${origin}/incidents/${id}`,
  ].join('\n');
  return panel({
    id: 'developer',
    title: 'For the developer',
    right: html`<button class="btn" type="button" data-copy="developer-text">Copy<span class="vh"> the text for the developer</span></button>`,
    body: html`<div class="body"><pre class="text" id="developer-text" tabindex="0" role="region" aria-label="Text for the developer">${text}</pre></div>`,
  });
}

/** The moment in the zone of the page, which it names. */
const atTime = (iso: string): string => exactTime(Date.parse(iso));

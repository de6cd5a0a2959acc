/** The form that adds a subscriber, and what the API is asked for with it. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SubscriberBody } from '../../../api/subscribers/fields.ts';
import { EVENT_TYPES } from '../../../domain/events/system-event-types.ts';
import { STATE_NAMES, stateBoth } from '../../../domain/purchases/states.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { field, refusalNote, type Tried } from '../../parts/fields.ts';
import { tickBoxes, ticked } from '../../parts/tick-boxes.ts';

/** As the API names them. */
export const FIELDS = ['name', 'url', 'format', 'headers', 'description', 'types', 'sites', 'states'];
const FORMATS = [
  { value: 'standard', word: 'standard, as in the feed' },
  { value: 'cloudevents', word: 'CloudEvents' },
];

/** The fields of both forms. `has`: the subscriber that is changed; `sites`: of the settings. */
export function sharedFields(tried: Tried, sites: readonly string[], has: SubscriberBody | null = null) {
  const boxes = (name: 'types' | 'sites' | 'states', legend: string, known: readonly string[], word?: typeof stateBoth): Html =>
    // A value that the subscriber has, and that is no longer known, can be taken away.
    tickBoxes({ name, legend }, [...new Set([...known, ...(has?.[name] ?? []).map(String)])], tried, word);
  return {
    types: boxes('types', 'Types of events; none ticked: all', EVENT_TYPES),
    sites: (sites.length > 1 || has?.sites != null) && boxes('sites', 'Sites; none ticked: all', sites),
    states: boxes('states', 'Only when a purchase changed to one of these states; none ticked: all', STATE_NAMES, stateBoth),
    format: field({ name: 'format', label: 'Format', tried, choices: FORMATS }),
    asymmetric: html`<label class="inline"><input type="checkbox" name="asymmetric" value="on"${tried.values.asymmetric === 'on' && html` checked`}> an ed25519 key signs, too</label>`,
    description: field({ name: 'description', label: 'What it is for', tried, longest: 500 }),
  };
}

/** Everything a person may choose of a subscriber; what is left out has its default. */
export function addForm({ base }: Ask, { sites }: OverviewBody, tried: Tried): Html {
  const names = sites.filter(({ configured }) => configured).map(({ site }) => site);
  const shared = sharedFields(tried, names);
  // Values of headers are secrets: no page repeats them.
  const unrepeated = { ...tried, values: {} };
  return html`<form class="body stack" method="post" action="${base}/subscribers">${refusalNote(tried, FIELDS)}
<div class="fields">${field({ name: 'name', label: 'Name', tried, isRequired: true, longest: 63, hint: 'Up to 63 small letters, digits, - and _. It cannot be changed.' })}
${field({ name: 'url', label: 'Address', tried, isRequired: true, longest: 2_000, placeholder: 'https://shop.example/hooks', hint: 'Where events are posted; nothing in a private network unless the settings allow it.' })}</div>
${shared.types}
${shared.sites}
<details class="quiet" id="add-more"${isMore(tried) && html` open`}><summary>States, format, headers and more</summary><div class="stack">
${shared.states}
<div class="fields">${shared.format}
${shared.asymmetric}</div>
${field({ name: 'headers', label: 'Headers, one a line as Name: value', tried: unrepeated, isLong: true, hint: 'Their values are encrypted and never shown again; after an error they are typed again.' })}
${shared.description}</div></details>
<button class="btn first">Add the subscriber</button><p class="small">It gets what happens from now on. Its secret is made here and shown once, on the page that follows.</p></form>`;
}

/** Whether something in the folded part was typed or refused. */
function isMore({ values, refusal }: Tried): boolean {
  const isTyped = ticked(values, 'states') !== null || (values.format ?? 'standard') !== 'standard' || values.asymmetric === 'on';
  const folded = /^(?:states|format|asymmetric|headers|description)\b/;
  return (
    isTyped || (values.description ?? '') !== '' || (refusal?.errors.some(({ field: wrong }) => folded.test(wrong)) ?? false)
  );
}

/** The body for the API. */
export function newSubscriber(form: Ask['form']) {
  const { name = '', url = '', format = 'standard', description = '', headers = '' } = form;
  return {
    name: name.trim(),
    url: url.trim(),
    format,
    asymmetric: form.asymmetric === 'on',
    types: ticked(form, 'types'),
    sites: ticked(form, 'sites'),
    states: ticked(form, 'states'),
    description: description.trim() === '' ? null : description.trim(),
    headers: headersOf(headers),
  };
}

/** `Name: value` lines; what has no colon is a name without a value, which the API refuses. */
export function headersOf(text: string): Record<string, string> | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

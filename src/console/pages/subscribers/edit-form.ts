/** The form that changes a subscriber of the API, and what the API is asked for with it: what differs, and nothing else. */
import type { SubscriberBody } from '../../../api/subscribers/fields.ts';
import { type Html, html, tied } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { field, refusalNote, type Tried } from '../../parts/fields.ts';
import { ticked } from '../../parts/tick-boxes.ts';
import { FIELDS, headersOf, sharedFields } from './add-form.ts';

/** The form's first values: the subscriber as it is. Its address and the values of its headers are secrets, and are not there. */
export function editBegins({ types, sites, states, format, publicKey, description }: SubscriberBody): Tried['values'] {
  const ticks = Object.entries({ types, sites, states }).flatMap(([name, list]) =>
    (list ?? []).map((each) => [`${name}:${each}`, 'on'] as const),
  );
  return {
    ...Object.fromEntries(ticks),
    format,
    description: description ?? '',
    ...(publicKey !== null && { asymmetric: 'on' }),
  };
}

/** Everything a person may change, and what will happen to what waits. */
export function editForm(
  subscriber: SubscriberBody,
  names: readonly string[],
  texts: { waits: string; path: string },
  tried: Tried,
): Html {
  const { waits, path } = texts;
  const { name, url, headers } = subscriber;
  const { values } = tried;
  const shared = sharedFields(tried, names, subscriber);
  const kept =
    headers.length === 0
      ? 'It has none now.'
      : `It has ${headers.join(', ')} now; left empty, they stay, and an address of another origin (scheme, host, port) needs them again.`;
  return html`<details class="same" id="edit"${tried.refusal !== null && html` open`}><summary>Edit</summary><form class="body stack" method="post" action="${path}/edit">${refusalNote(tried, FIELDS)}
${field({ name: 'url', label: 'Another address', tried, longest: 2_000, placeholder: url ?? 'https://shop.example/hooks', hint: 'Left empty, events go where they went.' })}
${shared.types}
${shared.sites}
<details class="quiet"><summary>States</summary>${shared.states}</details>
${shared.format}
${shared.asymmetric}
${field({ name: 'headers', label: 'Other headers, one a line as Name: value', tried: { ...tried, values: {} }, isLong: true, hint: `${kept} New ones replace them, and no page repeats their values.` })}
${headers.length !== 0 && html`<label class="inline"><input type="checkbox" name="no-headers" value="on"${values['no-headers'] === 'on' && html` checked`}> take its headers away</label>`}
${shared.description}
<div class="confirm"><p><b>The change holds at once, and its secret stays.</b> ${waits === '' ? 'Nothing waits for it now.' : `${tied(waits)}.`} What waits goes to the new address, in the new format and with the new headers; another address begins without failures, so it is sent at once. Types, sites and states hold for what happens from now on: what waits already is sent all the same.</p><p><button class="btn heavy">Change ${name}</button></p></div></form></details>`;
}

/** The body for the API; empty when nothing differs. */
export function changesOf(form: Ask['form'], subscriber: SubscriberBody): Readonly<Record<string, unknown>> {
  const { url = '', format = subscriber.format, headers = '', description = '' } = form;
  const asymmetric = form.asymmetric === 'on';
  const text = description.trim() === '' ? null : description.trim();
  const lists = (['types', 'sites', 'states'] as const).flatMap((name) => {
    const wanted = ticked(form, name);
    return isSame(wanted, subscriber[name]) ? [] : [[name, wanted] as const];
  });
  return {
    ...(url.trim() !== '' && { url: url.trim() }),
    ...Object.fromEntries(lists),
    ...(format !== subscriber.format && { format }),
    ...(asymmetric !== (subscriber.publicKey !== null) && { asymmetric }),
    ...(headers.trim() !== '' ? { headers: headersOf(headers) } : form['no-headers'] === 'on' && { headers: null }),
    ...(text !== subscriber.description && { description: text }),
  };
}

function isSame(wanted: readonly string[] | null, has: readonly (string | number)[] | null): boolean {
  if (wanted === null || has === null) return wanted === has;
  return new Set([...wanted, ...has.map(String)]).size === wanted.length && wanted.length === has.length;
}

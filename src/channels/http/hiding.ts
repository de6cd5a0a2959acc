/**
 * Takes out of receivers' answers what must not be kept: signing secrets, values of headers, and what in an address may
 * give access to it. Receivers repeat these as they came, or in the writing of JSON, HTML, addresses or base64.
 */
import type { Reach } from '../outgoing/sealed.ts';

/** The text without secrets; null when nothing of it may be kept. */
export type Hide = (text: string) => string | null;

const HIDDEN = '[hidden]';
/** A header's value that is shorter occurs in any answer by chance, so it cannot be taken out. */
const SHORTEST_OF_HEADERS = 4;
/** Shorter parts of a path are mostly words, such as hooks. */
const SHORTEST_OF_PATHS = 8;
/** The first word of a header that says what follows; no secret, and common in answers. */
const SCHEME = /^(?:Basic|Bearer|Digest|Signature|Token|ApiKey|Key)\s+/i;

/** For texts in which nothing has to be hidden. */
export const hideNothing: Hide = (text) => text;

/** Hides these secrets in every form they are likely to be repeated in. Made once for many texts. */
export function hiding(secrets: readonly string[]): Hide {
  const forms = [...new Set(secrets.filter((secret) => secret !== '').flatMap(formsOf))];
  if (forms.length === 0) return hideNothing;
  const shortest = Math.min(...forms.map(({ length }) => length));
  const longestFirst = forms.toSorted((a, b) => b.length - a.length);
  const any = new RegExp(longestFirst.map((form) => RegExp.escape(form)).join('|'));
  return (text) => (text.length < shortest || !any.test(text) ? text : covered(text, longestFirst));
}

/** Covers every place where a form stands. Forms may overlap, and none of them must leave a rest of another. */
function covered(text: string, forms: readonly string[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const form of forms) {
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) ranges.push([at, at + form.length]);
  }
  ranges.sort(([a], [b]) => a - b);
  let [rest, done] = ['', 0];
  for (const [from, to] of ranges) {
    if (from >= done) rest += text.slice(done, from) + HIDDEN;
    done = Math.max(done, to);
  }
  return rest + text.slice(done);
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

/** How one secret may be written. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const slashed = [json, ascii].map((text) => text.replaceAll('/', '\\/'));
  const encoded = encodeURIComponent(secret.toWellFormed());
  const bytes = Buffer.from(secret);
  return [
    ...[secret, json, ascii, ...slashed],
    ...[encoded, encoded.replaceAll('%20', '+')],
    secret.replace(/[&<>"']/g, (character) => ENTITIES.get(character)!),
    ...[bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')],
  ];
}

/** Hides what a webhook's receiver is trusted with. */
export function hidingOf({ keys, url, headers }: Pick<Reach, 'keys' | 'headers'> & { readonly url: URL }): Hide {
  const values = Object.values(headers).flatMap((value) => [value, ...credentialsIn(value)]);
  if (values.some(({ length }) => length < SHORTEST_OF_HEADERS)) return () => null;
  const words = values.flatMap((value) => value.replace(SCHEME, '').split(/[\s=,;"]+/));
  return hiding([
    ...keys.flatMap(({ key }) => keyForms(key.slice(key.indexOf('_') + 1))),
    ...pathParts(url),
    ...[...values, ...words, ...queryValues(url)].filter(({ length }) => length >= SHORTEST_OF_HEADERS),
  ]);
}

/** The credentials in base64 after `Basic`: the user with the password, and the password alone. */
function credentialsIn(value: string): string[] {
  const encoded = /^Basic\s+(\S+)$/i.exec(value)?.[1];
  if (encoded === undefined) return [];
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon === -1 ? [] : [pair, ...[pair.slice(colon + 1)].filter((password) => password !== '')];
}

/** A receiver that shows why a signature is wrong may write out the key, as text or in hexadecimal. */
function keyForms(encoded: string): string[] {
  const bytes = Buffer.from(encoded, 'base64');
  const text = bytes.toString();
  const isText = /^[\x20-\x7e]+$/.test(text);
  return [encoded, bytes.toString('base64url'), bytes.toString('hex'), ...(isText ? [text] : [])];
}

function pathParts({ host, pathname, search }: URL): string[] {
  const whole = pathname === '/' ? [] : [host + pathname];
  return [pathname + search, ...pathname.split('/')]
    .filter(({ length }) => length >= SHORTEST_OF_PATHS)
    .concat(whole)
    .flatMap((part) => [part, decoded(part)])
    .filter(({ length }) => length >= SHORTEST_OF_HEADERS);
}

/** Names in a query are no secrets, unless they stand alone. */
function queryValues({ search }: URL): string[] {
  return search
    .slice(1)
    .split('&')
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
    .flatMap((value) => [value, decoded(value.replaceAll('+', ' '))]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

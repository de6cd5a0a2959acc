/** The whole answer of a receiver as it is kept of a failed attempt: status line, headers and body, without what gives access. */
import { shownAddress } from '../../domain/values/shown-address.ts';
import { cleared, withoutCredentials } from './excerpt.ts';
import type { Hide } from './hiding.ts';
import type { PostOutcome } from './post.ts';

/** Bytes that are kept; the table has the same limit. */
export const LONGEST_ANSWER = 8_192;
/** Bytes of the headers together: the body has the rest. */
const LONGEST_HEADERS = 3_072;
const NOT_KEPT = '[not kept]';
const CUT = '\n[the answer goes on; 8 kB of it are kept]';

/** Headers whose values may give access to something. Of these the name alone is kept. */
const PRIVATE = /cookie|auth|token|secret|key|session|credential|passw|signature|csrf|xsrf|jwt|nonce|assertion|\bsid\b/i;
const ADDRESS = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>,;]+/gi;
/** Headers whose value is an address, perhaps without a scheme. */
const LOCATIONS: ReadonlySet<string> = new Set(['location', 'content-location', 'refresh', 'link']);

/** The answer as a text of several lines; null when no answer came, or nothing of it may be kept. */
export function wholeAnswer({ status, statusText, headers, body }: PostOutcome, hide: Hide): string | null {
  if (status === null) return null;
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each) => `${name}: ${headerValue(name, each, hide)}`),
  );
  const first = `HTTP/1.1 ${status} ${statusText}`.trimEnd();
  const head = withoutCredentials([first, ...lines].join('\n'), hide);
  const text = withoutCredentials(body, hide);
  if (head === null || text === null) return null;
  const kept = cutTo(cleared(head), LONGEST_HEADERS);
  return cutTo(`${kept}\n\n${cleared(text)}`.trimEnd(), LONGEST_ANSWER);
}

function headerValue(name: string, value: string, hide: Hide): string {
  if (PRIVATE.test(name)) return NOT_KEPT;
  const hidden = hide(value) ?? NOT_KEPT;
  if (LOCATIONS.has(name) && hidden.search(ADDRESS) === -1) return NOT_KEPT;
  return hidden.replace(ADDRESS, shownAddress);
}

/** The beginning of a text in so many bytes of UTF-8, with a note where it was cut. */
function cutTo(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  // A character that is cut is left out.
  return (
    bytes
      .subarray(0, most - CUT.length)
      .toString()
      .replace(/\ufffd+$/, '') + CUT
  );
}

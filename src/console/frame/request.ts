/** Reads what browsers send: forms, and where a person wants to go on to. */
import type { Context } from 'hono';
import { withBody } from '../../api/http/body.ts';
import { Problem } from '../../api/http/problems.ts';

const KIB = 1024;
/** Bytes of a form, and of one that a person sends who has shown no key yet. */
const LARGEST_FORM = 64 * KIB;
const LARGEST_OF_STRANGERS = 4 * KIB;
const MOST_FIELDS = 500;

/** Fields of a form as text, of several with one name the last. */
export type Form = Readonly<Record<string, string>>;

/**
 * Reads a form of at most `largest` bytes. Throws Problem for a form that is too large, of too many fields, or not as browsers
 * send it unless a page asks for another way.
 */
export async function readForm(c: Context, largest = LARGEST_FORM): Promise<Form> {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')) throw notAForm();
  // Browsers say how long a form is.
  if (!(Number(c.req.header('content-length') ?? Number.NaN) <= largest)) throw tooLarge(`${largest} bytes`);
  return withBody(c, largest, (bytes) => {
    const text = bytes.toString();
    if (text.split('&', MOST_FIELDS + 1).length > MOST_FIELDS) throw tooLarge(`${MOST_FIELDS} fields`);
    return Object.fromEntries(new URLSearchParams(text));
  });
}

/** Reads the form of a person who has shown no key yet. */
export const readFormOfStranger = (c: Context): Promise<Form> => readForm(c, LARGEST_OF_STRANGERS);

/** Begins with one slash, also for a proxy that decodes what follows it. */
const OWN_PATH = /^\/(?!\/|%2f|%5c)/i;
/** Browsers drop control characters and take a backslash for a slash; a proxy may decode an encoded control character. */
const HOSTILE = /[\p{Cc}\\]|^[^?#]*%(?:[01][0-9a-f]|7f)/iu;

/**
 * The path, query and fragment of a page of the console to go on to, as ASCII for a Location header; `/` in place of a text
 * that may lead a browser or a proxy to another host.
 */
export function below(path: string | undefined): string {
  if (path === undefined || HOSTILE.test(path) || !OWN_PATH.test(path)) return '/';
  // Browsers read `/..//host` as `//host`.
  const { pathname, search, hash } = new URL(path, 'http://console');
  return OWN_PATH.test(pathname) ? pathname + search + hash : '/';
}

const notAForm = (): Problem =>
  new Problem('unsupported_media_type', 'Send the form as application/x-www-form-urlencoded. Nothing of it was used.');

const tooLarge = (most: string): Problem =>
  new Problem(
    'too_large',
    `A form may have ${most} here, and nothing of this one was used. Send it in parts, or use "purchase-watch watch --file".`,
  );

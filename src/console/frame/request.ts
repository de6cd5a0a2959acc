/** Reads what browsers send: forms, and where a person wants to go on to. */
import type { Context } from 'hono';
import { Problem } from '../../api/http/problems.ts';

/** A form with a file of purchases in it; browsers say how long a form is. */
const LARGEST_FORM = 1_000_000;

/** Fields of a form as text, of several with one name the last. Throws Problem for a form that is too large or cannot be read. */
export async function formOf(c: Context): Promise<Record<string, string>> {
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!(length <= LARGEST_FORM)) throw tooLarge();
  if (!OF_FORMS.test(c.req.header('content-type') ?? '')) throw unreadable();
  const fields = await c.req.parseBody().catch(() => {
    throw unreadable();
  });
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'));
}

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

/** How browsers send forms. */
const OF_FORMS = /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\s*(?:;|$)/i;

function unreadable(): Problem {
  return new Problem(
    'invalid_request',
    'The form cannot be read, and nothing of it was used. Send it from a page of the console.',
  );
}

function tooLarge(): Problem {
  const detail = `A form may have ${LARGEST_FORM} bytes, and nothing of this one was used. Send it in parts, or use "purchase-watch watch --file".`;
  return new Problem('too_large', detail);
}

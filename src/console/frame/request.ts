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

/** A path of the console to go on to; never another host's. */
export function below(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])/.test(path) && !/\p{Cc}/u.test(path) ? path : '/';
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

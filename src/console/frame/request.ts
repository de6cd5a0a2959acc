/** Reads what browsers send: forms, and where a person wants to go on to. */
import type { Context } from 'hono';
import { ApiRefusal } from './api-calls.ts';

/** A form with a file of purchases in it; browsers say how long a form is. */
const LARGEST_FORM = 1_000_000;

/** Fields of a form as text, of several with one name the last. Throws ApiRefusal for a form that is too large. */
export async function formOf(c: Context): Promise<Record<string, string>> {
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!(length <= LARGEST_FORM)) throw tooLarge();
  const fields = await c.req.parseBody();
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'));
}

/** A path of the console to go on to; never another host's. */
export function below(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])/.test(path) && !/[\r\n\0]/.test(path) ? path : '/';
}

function tooLarge(): ApiRefusal {
  const detail = `A form may have ${LARGEST_FORM} bytes, and nothing of this one was used. Send it in parts, or use "purchase-watch watch --file".`;
  return new ApiRefusal({ status: 413, code: 'too_large', title: 'The form is too large', detail });
}

/** Reads what browsers send: forms, and where a person wants to go on to. */
import type { Context } from 'hono';

/** A form with a file of purchases in it; browsers say how long a form is. */
const LARGEST_FORM = 1_000_000;

/** Fields of a form as text, of several with one name the last; none of a form that is too large. */
export async function formOf(c: Context): Promise<Record<string, string>> {
  const length = Number(c.req.header('content-length') ?? Number.NaN);
  if (!(length <= LARGEST_FORM)) return {};
  const fields = await c.req.parseBody();
  return Object.fromEntries(Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'));
}

/** A path of the console to go on to; never another host's. */
export function below(path: string | undefined): string {
  return path !== undefined && /^\/(?![/\\])/.test(path) && !/[\r\n\0]/.test(path) ? path : '/';
}

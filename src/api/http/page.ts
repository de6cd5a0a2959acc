/** Lists, page by page: the parameters, the answer and the cursor that all of them have. */
import { z } from '@hono/zod-openapi';
import { parameter, textOrNull } from './fields.ts';
import { jsonAnswer } from './route.ts';

/** Entries of a page when the caller names no number. */
export const DEFAULT_LIMIT = 50;
const MOST_LIMIT = 500;

/** How many entries a page has at most. */
export function limitParameter(most: number) {
  return parameter((value) => {
    const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
    return count >= 1 && count <= most ? { is: count } : { problem: `must be a whole number from 1 to ${most}` };
  }).openapi({ type: 'integer', minimum: 1, maximum: most, default: DEFAULT_LIMIT });
}

/** Where a list goes on: `nextCursor` of the page before. Callers know nothing of its content, which may change. */
const cursorParameter = parameter((value) => {
  const id = Number(/^id:(\d{1,16})$/.exec(Buffer.from(value, 'base64url').toString())?.[1]);
  const isOurs = Number.isSafeInteger(id) && cursorOf(id) === value;
  return isOurs ? { is: id } : { problem: 'is not a cursor of this list; give nextCursor of the page before, or leave it out' };
}).openapi({ type: 'string', description: '`nextCursor` of the page before.' });

/** The cursor after the entry with this row id. */
function cursorOf(id: number): string {
  return Buffer.from(`id:${id}`).toString('base64url');
}

/** Parameters of each list, beside its filters. */
export const pageParameters = { cursor: cursorParameter.optional(), limit: limitParameter(MOST_LIMIT).optional() };

/** For a route's definition: a page of entries. */
export function pageAnswer<Entry extends z.ZodType>(entry: Entry) {
  const schema = z.object({ data: z.array(entry), nextCursor: textOrNull });
  return jsonAnswer('A page; `nextCursor` is null on the last one.', schema);
}

/** The entries of a page: those before a row, `limit` at most. */
export interface PagePlace {
  readonly before: number | null;
  readonly limit: number;
}

/** Reads a page: `read` is asked for one entry more than a page has, to know whether another page follows. */
export async function readPage<Row extends { readonly id: number } | { readonly position: number }>(
  { cursor = null, limit = DEFAULT_LIMIT }: { readonly cursor?: number | null | undefined; readonly limit?: number | undefined },
  read: (place: PagePlace) => Promise<readonly Row[]>,
): Promise<{ page: readonly Row[]; nextCursor: string | null }> {
  const rows = await read({ before: cursor, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (last === undefined || rows.length === page.length) return { page, nextCursor: null };
  return { page, nextCursor: cursorOf('position' in last ? last.position : last.id) };
}

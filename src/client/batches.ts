/** Many registrations in as many calls as the API's limits ask for. */
import { stringifyExact } from '../domain/values/exact-json.ts';
import type { Registration } from './contract.ts';
import type { JsonValue } from './json.ts';

/** The API's own limits are 10 000 entries, 16 MiB and a million values. */
const MOST_ENTRIES = 10_000;
const MOST_BYTES = 15 * 1024 * 1024;
const MOST_VALUES = 990_000;

export interface Batch {
  /** The body of the call. */
  readonly body: string;
  /** The place of its first entry among all. */
  readonly from: number;
}

/** Bodies of `POST /v1/purchases/batch`, made as they are needed: however many there are, one is in memory. */
export async function* batchesOf(
  registrations: Iterable<Registration | string> | AsyncIterable<Registration | string>,
): AsyncGenerator<Batch, void, undefined> {
  let entries: string[] = [];
  let bytes = 0;
  let values = 0;
  let from = 0;
  const cut = (): Batch => {
    const batch = { body: `{"purchases":[${entries.join(',')}]}`, from };
    from += entries.length;
    entries = [];
    bytes = 0;
    values = 0;
    return batch;
  };
  for await (const each of registrations) {
    const text = registrationText(each);
    const size = Buffer.byteLength(text) + 1;
    // Counted as the API counts them, and those that stand in texts besides.
    const held = text.split(/[,[{]/).length;
    const isFull = entries.length >= MOST_ENTRIES || bytes + size > MOST_BYTES || values + held > MOST_VALUES;
    if (entries.length > 0 && isFull) yield cut();
    entries.push(text);
    bytes += size;
    values += held;
  }
  if (entries.length > 0) yield cut();
}

/** A registration as JSON, its numbers with the digits they have. */
export function registrationText(registration: Registration | string): string {
  return stringifyExact((typeof registration === 'string' ? { purchaseId: registration } : { ...registration }) as JsonValue);
}

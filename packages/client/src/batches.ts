/** Many registrations in as many calls as the API's limits ask for. */
import { stringifyExact } from '../../../src/domain/values/exact-json.ts';
import type { Registration } from './contract.ts';
import type { JsonValue } from './json.ts';

/** The API takes 1 000 entries and 1 MiB in a call. */
const MOST_ENTRIES = 1_000;
const MOST_BYTES = 1_000_000;

/** Bodies of `POST /v1/purchases/batch`, each with the place of its first entry among all, made as they are needed: one is in memory. */
export async function* batchesOf(registrations: Iterable<Registration | string> | AsyncIterable<Registration | string>) {
  let entries: string[] = [];
  let bytes = 0;
  let from = 0;
  const batch = () => ({ body: `{"purchases":[${entries.join(',')}]}`, from });
  for await (const each of registrations) {
    const text = registrationText(each);
    const size = Buffer.byteLength(text) + 1;
    if (entries.length >= MOST_ENTRIES || (entries.length > 0 && bytes + size > MOST_BYTES)) {
      yield batch();
      from += entries.length;
      entries = [];
      bytes = 0;
    }
    entries.push(text);
    bytes += size;
  }
  if (entries.length > 0) yield batch();
}

/** A registration as JSON, its numbers with the digits they have. */
export function registrationText(registration: Registration | string): string {
  return stringifyExact((typeof registration === 'string' ? { purchaseId: registration } : { ...registration }) as JsonValue);
}

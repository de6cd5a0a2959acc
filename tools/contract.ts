/**
 * Writes what is published of the contracts: JSON Schemas of the events (docs/events.schema.json for systems,
 * docs/alerts.schema.json for people) and the types of the client (packages/client/src/contract.ts). Run by itself it writes the files; a test refuses them when they are stale.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { peopleEventsSchema, systemEventsSchema } from '../src/domain/events/documents.ts';
import { clientTypes } from './client-types.ts';

const ROOT = join(import.meta.dirname, '..');

/** The text of each file by its path in the repository. */
export async function contractFiles(): Promise<ReadonlyMap<string, string>> {
  const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;
  return new Map([
    ['docs/events.schema.json', json(systemEventsSchema())],
    ['docs/alerts.schema.json', json(peopleEventsSchema())],
    ['packages/client/src/contract.ts', await clientTypes()],
  ]);
}

if (import.meta.main) for (const [path, text] of await contractFiles()) writeFileSync(join(ROOT, path), text);

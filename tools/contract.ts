/**
 * Writes what is published of the contracts: JSON Schemas of the events (docs/events.schema.json for systems,
 * docs/alerts.schema.json for people). Run by itself it writes the files; a test refuses them when they are stale.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { peopleEventsSchema, systemEventsSchema } from '../src/domain/events/documents.ts';

const ROOT = join(import.meta.dirname, '..');

/** The text of each file by its path in the repository. */
export function contractFiles(): ReadonlyMap<string, string> {
  const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`;
  return new Map([
    ['docs/events.schema.json', json(systemEventsSchema())],
    ['docs/alerts.schema.json', json(peopleEventsSchema())],
  ]);
}

if (import.meta.main) for (const [path, text] of contractFiles()) writeFileSync(join(ROOT, path), text);

/** Whether events are what the published schemas say, checked as a receiver that trusts the schemas would. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { peopleEventsSchema, systemEventsSchema } from '../../src/domain/events/documents.ts';
import type { Queries } from '../../src/postgres/connection/database.ts';

const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, discriminator: false, validateFormats: true });
// The package's default export is its module in some resolutions, and the function in others.
(formats as unknown as (to: unknown) => void)(ajv);
// A number with the digits that the service sent; `JSON.parse` has made a double of it.
ajv.addFormat('decimal', true);
const documents = { systems: systemEventsSchema(), people: peopleEventsSchema() };
const nameOf = new Map<string, string>();
for (const document of Object.values(documents)) {
  ajv.addSchema(document);
  for (const [name, schema] of Object.entries(document.$defs ?? {})) {
    const { type } = (schema.properties ?? {}) as { type?: { const?: string } };
    if (type?.const !== undefined) nameOf.set(type.const, `${String(document.$id)}#/$defs/${name}`);
  }
}

/** What is wrong with the body of an event, by the schema of its type; null when nothing is. */
export function eventFault(body: string): string | null {
  const event = JSON.parse(body) as { type: string };
  const validate = ajv.getSchema(nameOf.get(event.type) ?? '');
  if (validate === undefined) return `no schema has the type ${event.type}`;
  if (validate(event)) return null;
  return `${event.type}: ${(validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')}`;
}

/** The faults of the events that a database holds, each once: of each type the latest fifty are checked. */
export async function eventFaults(sql: Queries): Promise<string[]> {
  const rows = await sql<{ body: string }[]>`
    select body from (
      select body, row_number() over (partition by type order by position desc) as number from purchase_watch_internal.events) e
    where number <= 50`;
  return [...new Set(rows.flatMap(({ body }) => eventFault(body) ?? []))];
}

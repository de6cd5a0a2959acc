/** The contracts of events as JSON Schema (2020-12), for programs in any language. */
import { z } from 'zod';
import { PEOPLE_EVENTS } from './people-event-types.ts';
import { EVENT_TYPES, type EventType, purchaseEventData, SYSTEM_EVENTS } from './system-event-types.ts';

/** A JSON Schema, as far as it is read here. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

/** Any event for systems: `oneOf` names the schema of each type in `$defs`. */
export function systemEventsSchema(): JsonSchema {
  const about = 'An event as webhooks, brokers and the feed bring it. Later versions may add types, and fields to each type.';
  return documentOf('events', about, Object.values(SYSTEM_EVENTS), [purchaseEventData]);
}

/** Any event for people, as alert webhooks bring it. */
export function peopleEventsSchema(): JsonSchema {
  const about = 'An event as alert webhooks bring it. Later versions may add types, and fields to each type.';
  return documentOf('alerts', about, Object.values(PEOPLE_EVENTS), []);
}

/** The name in `$defs` of each type of event for systems. */
export function eventNames(): { type: EventType; name: string }[] {
  return EVENT_TYPES.map((type) => ({ type, name: String(SYSTEM_EVENTS[type].meta()?.id) }));
}

function documentOf(name: string, description: string, events: readonly z.ZodType[], more: readonly z.ZodType[]): JsonSchema {
  // A body is what the schemas take: what is read from it may be of another form.
  const { $schema, $defs } = z.toJSONSchema(z.tuple([...events, ...more] as [z.ZodType]), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // How reading goes on without a field is no part of the contract, and neither are the bounds of safe integers.
      delete jsonSchema.default;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  }) as JsonSchema;
  const oneOf = events.map((event) => ({ $ref: `#/$defs/${String(event.meta()?.id)}` }));
  return { $schema, $id: `urn:purchase-watch:schema:${name}`, description, oneOf, $defs: $defs ?? {} };
}

/** The part of the OpenAPI document that describes what is sent: a webhook for each type of event, and the schemas of all. */
import { eventNames, type JsonSchema, systemEventsSchema } from '../../domain/events/documents.ts';
import { type Api, OPEN } from '../http/route.ts';

type Registry = Api['openAPIRegistry'];
/** A schema as OpenAPI 3.1 has it, which is JSON Schema. */
type Component = { readonly description?: string };

const header = (name: string, description: string) =>
  ({ name, in: 'header', required: true, description, schema: { type: 'string' } }) as const;

const HEADERS = [
  header('webhook-id', 'The `id` of the event: the same on every attempt. Ignore one that was taken before.'),
  header('webhook-timestamp', 'When the attempt was made, in seconds since 1970.'),
  header('webhook-signature', 'One or more signatures over `id.timestamp.body`: `v1,…` by a secret, `v1a,…` by a key pair.'),
];

/** Registers the schemas of events as components (`Event` is any of them), and each type as a webhook. */
export function registerWebhooks(registry: Registry): void {
  const { $defs = {}, description } = systemEventsSchema();
  const events = eventNames();
  const text = JSON.stringify($defs);
  const isUsed = (name: string): boolean => events.some((event) => event.name === name) || text.includes(`"#/$defs/${name}"`);
  for (const [name, schema] of Object.entries($defs)) {
    // The API's own schemas refer to State, and so register it. What no schema refers to is for the types of the client alone.
    if (name !== 'State' && isUsed(name)) registry.registerComponent('schemas', name, component(schema));
  }
  const oneOf = events.map(({ name }) => ({ $ref: refTo(name) }));
  const mapping = Object.fromEntries(events.map(({ type, name }) => [type, refTo(name)]));
  registry.registerComponent('schemas', 'Event', {
    description: String(description),
    oneOf,
    discriminator: { propertyName: 'type', mapping },
  });
  for (const { type, name } of events) {
    registry.registerWebhook({
      method: 'post',
      path: type,
      operationId: `on${name.replace(/Event$/, '')}`,
      summary: String($defs[name]?.description),
      description: 'Signed as Standard Webhooks 1.0.0 say: any of their libraries checks it.',
      tags: ['Webhooks'],
      security: OPEN,
      parameters: HEADERS,
      request: { body: { required: true, content: { 'application/json': { schema: { $ref: refTo(name) } } } } },
      responses: {
        '2XX': { description: 'The receiver took the event. Any other status is a failure, and the event is sent again later.' },
        '410': { description: 'The receiver wants no more events: the subscriber is switched off.' },
      },
    });
  }
}

function refTo(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Where components are is another place than in a JSON Schema of its own. */
function component(schema: JsonSchema): Component {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Component;
}

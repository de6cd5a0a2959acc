/** The system as it runs, for people who look after it. */
import { z } from '@hono/zod-openapi';
import { readSystem } from '../../actions/doctor/system-page.ts';
import { isKeyless } from '../../config/api-keys.ts';
import { SCOPES } from '../../config/kinds/key-kinds.ts';
import { listOf, named, textOrNull } from '../http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { timeOrNull } from '../purchases/purchase-body.ts';

export function mountSystem(app: Api, { sql, settings: { apiKeys }, own, describe }: ApiDeps): void {
  const keys = isKeyless(apiKeys) ? [] : apiKeys;
  app.openapi(systemRoute, async (c) => c.json(await readSystem(sql, { keys, own, described: describe() }), 200));
}

/** The result of a check, without secrets. */
export const findingSchema = named('Finding', {
  about: z.string().openapi({ description: 'What was checked.', example: 'site default' }),
  verdict: z.enum(['ok', 'warning', 'failed']),
  found: z.string(),
  todo: textOrNull.describe('What to do about it; null when there is nothing to do.'),
});

const systemSchema = named('System', {
  versions: z.object({
    package: z.string(),
    node: z.string(),
    postgres: z.string(),
    schema: z.int().describe('Number of the last migration.'),
  }),
  database: z.object({ connections: z.int(), maxConnections: z.int() }),
  keys: listOf({
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    expiresAt: timeOrNull,
  }).describe('Keys of the API by their names.'),
  findings: z
    .array(findingSchema)
    .describe('What `purchase-watch doctor` finds in the database, keys and certificates that end soon; words may change.'),
  settings: listOf({ name: z.string(), text: z.string(), origin: z.string() }).describe(
    'As `purchase-watch config` shows them, without secrets: those that the answering process was started with.',
  ),
});

/** The answer's body. */
export type SystemBody = z.output<typeof systemSchema>;

const systemRoute = route('GET /v1/system', {
  summary: 'The system as it runs',
  description:
    'Versions, keys by their names, settings with their origin and without secrets, and what doctor finds without calling sites or receivers.',
  answers: { 200: jsonAnswer('As it is now.', systemSchema) },
});

/** The scopes of a call's key: for programs that adapt to it, and for the console's sign-in. */
import { z } from '@hono/zod-openapi';
import { SCOPES } from '../../config/kinds/key-kinds.ts';
import { isoTimeOrNull } from '../../domain/values/time.ts';
import { named, textOrNull } from '../http/fields.ts';
import { type Api, jsonAnswer, route } from '../http/route.ts';
import { KEYLESS } from './access.ts';

export function mountKey(app: Api): void {
  app.openapi(keyRoute, (c) => {
    const { key, scopes, expires } = c.get('caller') ?? KEYLESS;
    return c.json({ key, scopes: [...scopes], expiresAt: isoTimeOrNull(expires) }, 200);
  });
}

const keySchema = named('Key', {
  key: textOrNull.describe('The name of the key; null where no keys are configured.'),
  scopes: z.array(z.enum(SCOPES)),
  expiresAt: textOrNull.describe('From when on the key is refused; null: never.'),
});

/** The answer's body. */
export type KeyBody = z.output<typeof keySchema>;

const keyRoute = route('GET /v1/key', {
  summary: 'What the key of this call may do',
  description: 'Its name, its scopes and when it expires.',
  answers: { 200: jsonAnswer('The key, by its name.', keySchema) },
  needsDatabase: false,
});

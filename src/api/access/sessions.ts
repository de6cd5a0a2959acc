/** Who is signed in to the console, and signing browsers out. */

import { z } from '@hono/zod-openapi';
import { rowIdOf } from '../../actions/row-ids.ts';
import { endOneSession, endSessionsOf, listSessions, sessionBody } from '../../actions/sessions.ts';
import { lineParameter, named, parameter, textOrNull } from '../http/fields.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';

export function mountSessions(app: Api, { sql, changes }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const own = c.get('caller')?.session ?? null;
    const { page, nextCursor } = await readPage(c.req.valid('query'), (place) => listSessions(sql, place));
    return c.json({ data: page.map((row) => sessionBody(row, own)), nextCursor }, 200);
  });

  app.openapi(endRoute, async (c) => {
    await endOneSession(changes, c.req.valid('param').id);
    return c.body(null, 204);
  });

  app.openapi(endAllRoute, async (c) => {
    const { key = null } = c.req.valid('query');
    const ended = await endSessionsOf(changes, key);
    c.set('subject', { ...(key !== null && { key }), ended });
    return c.json({ ended }, 200);
  });
}

const sessionSchema = named('Session', {
  id: z.string().openapi({ example: 'ses_42' }),
  key: z.string().describe('The name of the key with which the person signed in.'),
  person: textOrNull.openapi({ description: 'The name that the person said; null where none was said.', example: 'Kim' }),
  address: z.string().describe('From where the person signed in; behind a proxy, its address.'),
  signedInAt: z.string(),
  lastSeenAt: z.string().describe('When a page was last asked for, to the minute.'),
  expiresAt: z.string(),
  isOwn: z.boolean().describe('Whether the session itself asks; false for every program.'),
});

/** One of the list. */
export type SessionBody = z.output<typeof sessionSchema>;

const idField = parameter(rowIdOf('ses')).openapi({ type: 'string', pattern: '^ses_[1-9][0-9]{0,15}$', example: 'ses_42' });

const listRoute = route('GET /v1/sessions', {
  summary: 'List who is signed in to the console',
  description:
    'The latest first. A session whose key was replaced or removed opens nothing, and stays in the list until it expires.',
  query: pageParameters,
  answers: { 200: pageAnswer(sessionSchema) },
});

const endRoute = route('DELETE /v1/sessions/{id}', {
  summary: 'Sign a browser out',
  description: 'The next request of that browser to the console is refused, and its open pages follow nothing any more.',
  params: { id: idField },
  answers: { 204: { description: 'It is signed out.' } },
  problems: ['session_not_found'],
});

const endAllRoute = route('DELETE /v1/sessions', {
  summary: 'Sign all browsers out',
  description: 'Of one key, or of all.',
  query: { key: lineParameter('the name of a key').optional() },
  answers: { 200: jsonAnswer('They are signed out.', z.object({ ended: z.int() })) },
});

/** Changes by people and programs with the rights of an operator. */

import { z } from '@hono/zod-openapi';
import { actionBody, DOORS, listActions } from '../../actions/recorded.ts';
import { lineParameter, named, textOrNull, wordParameter } from '../http/fields.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { type Api, type ApiDeps, route } from '../http/route.ts';

export function mountActions(app: Api, { sql }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { key = null, via = null, about = null, ...wanted } = c.req.valid('query');
    const { page, nextCursor } = await readPage(wanted, (place) => listActions(sql, { key, via, about }, place));
    return c.json({ data: page.map(actionBody), nextCursor }, 200);
  });
}

const actionSchema = named('Action', {
  id: z.string().openapi({ example: 'act_42' }),
  at: z.string(),
  key: textOrNull.describe('The name of the key; null where none is configured, and of commands.'),
  person: textOrNull.openapi({
    description:
      'The name that the person said at the sign-in to the console; null where none was said, and of programs and commands.',
    example: 'Kim',
  }),
  address: z.string().describe('From where: the address of the caller, or of a command `account@machine`.'),
  via: z.enum(DOORS),
  call: z.string().openapi({
    description: 'A call of the API, a command, or `sign in`, `sign out`, `sign out everywhere`.',
    example: 'POST /v1/incidents/{id}/acknowledge',
  }),
  subject: z.record(z.string(), z.union([z.string(), z.number()])).openapi({
    description: 'What it was about, by ids and counts. The id of a purchase that was erased since is left out.',
    example: { id: 'inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2' },
  }),
  outcome: z
    .enum(['done', 'failed'])
    .describe('`failed`: the call was answered with a fault, and may have been done all the same.'),
});

/** One of the list. */
export type ActionBody = z.output<typeof actionSchema>;

const listRoute = route('GET /v1/actions', {
  summary: 'List what was changed, by whom and from where',
  description:
    'The latest first: every change that people and programs made through API, console or commands with the scope `operate`, and sign-ins to the console. Not registrations, and not polls and invoices that programs ask for through the API. What was refused changed nothing and is only in the log. Kept for `store.retention.events`.',
  query: {
    key: lineParameter('the name of a key').optional(),
    via: wordParameter(DOORS, 'door').optional(),
    about: lineParameter('the id of what was changed').optional(),
    ...pageParameters,
  },
  answers: { 200: pageAnswer(actionSchema) },
});

/** Marks: moments that people and programs name, such as deploys. */

import { z } from '@hono/zod-openapi';
import { databaseNow } from '../../actions/database.ts';
import { rowIdOf } from '../../actions/row-ids.ts';
import { addMark, checkedMarkTime, listMarks, markBody, readMarkText, removeMark } from '../../actions/trends/marks.ts';
import { LONGEST_TEXT } from '../../domain/values/one-line.ts';
import { momentParameter, named, parameter, siteParameter, textOrNull } from '../http/fields.ts';
import { strict } from '../http/invalid.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { fieldProblem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { timeSchema } from '../purchases/purchase-body.ts';

export function mountMarks(app: Api, { sql, changes, secrets }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { site = null, ...wanted } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    const { page, nextCursor } = await readPage(wanted, (place) => listMarks(sql, { site, ...place }));
    return c.json({ data: page.map(markBody), nextCursor }, 200);
  });

  app.openapi(addRoute({ sql: changes, secrets }), async (c) => {
    const { text, at, site = null } = c.req.valid('json');
    if (site !== null) await requireSite(sql, site);
    const now = await databaseNow(sql);
    const when = checkedMarkTime(at?.(now) ?? now, now);
    if ('problem' in when) throw fieldProblem('at', when.problem);
    const mark = markBody(await addMark(changes, { at: when.is, text, site }));
    c.set('subject', { id: mark.id });
    return c.json(mark, 201);
  });

  app.openapi(deleteRoute, async (c) => {
    await removeMark(changes, c.req.valid('param').id, 'GET /v1/marks');
    return c.body(null, 204);
  });
}

export const markSchema = named('Mark', {
  id: z.string().openapi({ example: 'mrk_42' }),
  at: timeSchema.describe('When it happened.'),
  text: z.string().openapi({ example: 'deploy 4.2' }),
  site: textOrNull.describe('The site that it is about; null: all sites.'),
});

const newMarkSchema = strict({
  text: parameter(readMarkText).openapi({
    type: 'string',
    minLength: 1,
    maxLength: LONGEST_TEXT,
    description: 'A few words of one line.',
    example: 'deploy 4.2',
  }),
  at: momentParameter.optional().openapi({
    example: '10m',
    description: 'When it happened: a time with its zone, or a duration back from now; now, when left out.',
  }),
  site: siteParameter.optional().describe('The site that it is about; all sites, when left out.'),
}).openapi('NewMark');

const listRoute = route('GET /v1/marks', {
  summary: 'List marks',
  description: 'The last added first. Kept for `store.retention.trends`, counted from `at`.',
  query: {
    site: siteParameter.optional().describe('Marks about this site, and those about all sites.'),
    ...pageParameters,
  },
  answers: { 200: pageAnswer(markSchema) },
  problems: ['unknown_site'],
});

const addRoute = (means: Pick<ApiDeps, 'sql' | 'secrets'>) =>
  route('POST /v1/marks', {
    summary: 'Mark a moment',
    description: 'Such as a deploy, from CI. Trends and incidents show what happened when.',
    idempotent: means,
    body: newMarkSchema,
    answers: { 201: jsonAnswer('The mark.', markSchema) },
    problems: ['unknown_site'],
  });

const deleteRoute = route('DELETE /v1/marks/{id}', {
  summary: 'Delete a mark',
  description: 'Trends and incidents do not show it any more.',
  params: {
    id: parameter(rowIdOf('mrk')).openapi({ type: 'string', pattern: '^mrk_[1-9][0-9]{0,15}$', example: 'mrk_42' }),
  },
  answers: { 204: { description: 'It is gone.' } },
  problems: ['mark_not_found'],
});

/** Silences: times in which people want no alerts about some incidents. */

import type { z } from '@hono/zod-openapi';
import { databaseNow, type Sql } from '../../actions/database.ts';
import { silenceBody } from '../../actions/incidents/body.ts';
import { LONGEST_NAME, LONGEST_REASON } from '../../actions/incidents/rules.ts';
import {
  lift,
  listSilences,
  requireSilence,
  type SilenceField,
  silence,
  silenceProblems,
} from '../../actions/incidents/silences.ts';
import { silenceName } from '../../actions/row-ids.ts';
import { isJsonObject, type JsonValue } from '../../domain/values/exact-json.ts';
import { flagField, siteParameter, siteProblem, stateField, wordParameter } from '../http/fields.ts';
import { type IssueNote, strict } from '../http/invalid.ts';
import { pageAnswer, pageParameters, readPage } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { byField, comingField, kindParameter, silenceIdField, silenceSchema, wordsField } from './fields.ts';

export function mountSilences(app: Api, { sql, changes, secrets }: ApiDeps): void {
  app.openapi(listRoute, async (c) => {
    const { status = 'current', ...wanted } = c.req.valid('query');
    const now = await databaseNow(sql);
    const { page, nextCursor } = await readPage(wanted, (place) => listSilences(sql, { status, ...place }));
    return c.json({ data: page.map((row) => silenceBody(row, now)), nextCursor }, 200);
  });

  app.openapi(addRoute({ sql: changes, secrets }), async (c) => {
    const { startsAt, endsAt, ...given } = c.req.valid('json');
    const now = await databaseNow(sql);
    const row = await silence(changes, { ...given, startsAt: startsAt?.(now), endsAt: endsAt(now) }, now);
    c.header('location', `/v1/silences/${silenceName(row.id)}`);
    return c.json(silenceBody(row, await databaseNow(sql)), 201);
  });

  app.openapi(readRoute, async (c) => {
    const row = await requireSilence(sql, c.req.valid('param').id);
    return c.json(silenceBody(row, await databaseNow(sql)), 200);
  });

  app.openapi(endRoute, async (c) => {
    await lift(changes, c.req.valid('param').id);
    return c.body(null, 204);
  });
}

const newSilenceSchema = strict({
  site: siteParameter.optional(),
  state: stateField.optional(),
  kind: kindParameter.optional(),
  subscriber: wordsField(LONGEST_NAME, 'the name of a subscriber').optional().describe('Only incidents about this subscriber.'),
  everything: flagField.optional().describe('Needed to silence all incidents: without site, state, kind and subscriber.'),
  reason: wordsField(LONGEST_REASON, 'why').openapi({ example: 'The service is being moved tonight.' }),
  by: byField,
  startsAt: comingField.optional().openapi({
    example: '10m',
    description: 'A time with its zone, or a duration from now, not in the past; now, when it is left out.',
  }),
  endsAt: comingField.describe('A time with its zone, or a duration from now; at most 30 days ahead.'),
});
type GivenSilence = z.output<typeof newSilenceSchema>;

/** Adds what the fields say together to what is wrong with single ones, so that the caller gets all errors at once. */
async function checkSense(sql: Sql, given: GivenSilence, ctx: z.core.$RefinementCtx<GivenSilence>): Promise<void> {
  const wrong = new Set(ctx.issues.map(({ path }) => path?.[0]));
  const isWrong = (field: SilenceField): boolean => wrong.has(field);
  const now = await databaseNow(sql);
  const { startsAt, endsAt, ...fields } = given;
  const found = await silenceProblems(
    sql,
    {
      ...fields,
      startsAt: isWrong('startsAt') ? undefined : startsAt?.(now),
      endsAt: isWrong('endsAt') ? undefined : endsAt(now),
    },
    {
      now,
      siteProblem,
      isWrong,
      words: { yes: 'true', endsAt: 'endsAt', listSubscribers: 'GET /v1/subscribers' },
    },
  );
  for (const { field, problem, isUnknownSite } of found) {
    const note: IssueNote = isUnknownSite ? { code: 'unknown_site' } : {};
    ctx.addIssue({ code: 'custom', path: [field], message: problem, params: { ...note } });
  }
}

const oneSilence = { params: { id: silenceIdField }, problems: ['silence_not_found'] } as const;
const answer = (description: string) => jsonAnswer(description, silenceSchema);

const listRoute = route('GET /v1/silences', {
  summary: 'List silences',
  description: 'Newest first: those that hold or will (`current`), unless `status` asks for others.',
  query: {
    status: wordParameter(['current', 'over', 'all'], 'status').optional(),
    ...pageParameters,
  },
  answers: { 200: pageAnswer(silenceSchema) },
});

const addRoute = (means: Pick<ApiDeps, 'sql' | 'secrets'>) =>
  route('POST /v1/silences', {
    summary: 'Silence incidents for a time',
    description:
      'While it holds, people are alerted of no incident that matches, but for the end of one of which they were alerted before. When it ends, they are alerted of what is still wrong. Webhooks and the feed are not silenced.',
    idempotent: means,
    body: newSilenceSchema
      .superRefine((given, ctx) => checkSense(means.sql, given, ctx), {
        when: ({ value }) => isJsonObject(value as JsonValue),
      })
      .openapi('NewSilence'),
    answers: { 201: answer('It holds, or will.') },
    problems: ['unknown_site'],
  });

const readRoute = route('GET /v1/silences/{id}', {
  summary: 'Read a silence',
  description: 'Also one that is over.',
  ...oneSilence,
  answers: { 200: answer('The silence.') },
});

const endRoute = route('DELETE /v1/silences/{id}', {
  summary: 'End a silence',
  description: 'At once; it stays in the list of those that are over. May be repeated.',
  ...oneSilence,
  answers: { 204: { description: 'It is over.' } },
});

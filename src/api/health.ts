/** Health, for operators' tools: does the process live, and can it work. */

import { z } from '@hono/zod-openapi';
import type { Sql } from '../actions/database.ts';
import { isoTimeOrNull } from '../domain/values/time.ts';
import { REPLICA_HEADER } from '../runtime/http/replica-header.ts';
import { delay } from '../runtime/time.ts';
import { listOf, textOrNull } from './http/fields.ts';
import { type Api, type ApiDeps, jsonAnswer, OPEN, route, showsMoreTo } from './http/route.ts';

const ANSWER_WITHIN = 1_000;

export function mountHealth(
  app: Api,
  { operators: sql, health, replica }: Pick<ApiDeps, 'operators' | 'health' | 'replica'>,
): void {
  const database = databaseProbe(sql);
  app.openapi(healthRoute, (c) => c.json({ status: 'alive' as const }, 200));
  app.openapi(readyRoute, async (c) => {
    c.header(REPLICA_HEADER, replica);
    const answers = await database();
    const ready = answers && health.ok();
    const code = ready ? 200 : 503;
    const status = ready ? ('ready' as const) : ('not ready' as const);
    // Faults are for those who run the daemon: errors name hosts and tables.
    if (!c.get('caller')?.scopes.includes('read')) return c.json({ status }, code);
    const body = {
      status,
      database: answers ? ('answers' as const) : ('does not answer' as const),
      loops: health.loops().map(({ lastGoodAt, ...loop }) => ({ ...loop, lastGoodAt: isoTimeOrNull(lastGoodAt) })),
    };
    return c.json(body, code);
  });
}

/** Whether the database answers in time. However often it is asked, one query is under way: a silent one must not collect them. */
function databaseProbe(sql: Sql): () => Promise<boolean> {
  let underWay: Promise<boolean> | null = null;
  return () => {
    underWay ??= sql`select 1`
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        underWay = null;
      });
    return Promise.race([underWay, delay(ANSWER_WITHIN, false, { ref: false })]);
  };
}

const healthRoute = route('GET /healthz', {
  summary: 'Whether the process lives',
  description: 'Asks neither the database nor the checkout service; `/readyz` does.',
  security: OPEN,
  answers: { 200: jsonAnswer('It does.', z.object({ status: z.literal('alive') })) },
  needsDatabase: false,
});

const forReaders = 'Only shown to a key with the scope `read`.';
const readySchema = z.object({
  status: z.enum(['ready', 'not ready']),
  database: z.enum(['answers', 'does not answer']).optional().describe(forReaders),
  loops: listOf({ name: z.string(), ok: z.boolean(), error: textOrNull, lastGoodAt: textOrNull }).optional().describe(forReaders),
});

const readyRoute = route('GET /readyz', {
  summary: 'Whether it can do its work',
  description:
    'The database answers within a second, and no loop is failing. Without a key with the scope `read` the answer is `status` alone.',
  security: showsMoreTo('read'),
  answers: {
    200: jsonAnswer('It can.', readySchema),
    503: jsonAnswer('It cannot; to a key with the scope `read` the body says what is wrong.', readySchema),
  },
  needsDatabase: false,
});

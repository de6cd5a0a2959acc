/** How everything was at a moment of the last 14 days. */

import { z } from '@hono/zod-openapi';
import { databaseNow } from '../../actions/database.ts';
import { INCIDENT_KINDS } from '../../actions/incidents/rules.ts';
import { pastMoment } from '../../actions/subscribers/moment.ts';
import { readThen } from '../../actions/then/then.ts';
import { HOUR, type Instant } from '../../domain/values/time.ts';
import { activitySchema } from '../flow/activity.ts';
import { flowSchema } from '../flow/flow.ts';
import { intOrNull, listOf, momentParameter, named, orNull, siteParameter, textOrNull } from '../http/fields.ts';
import { Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { silenceSchema } from '../incidents/fields.ts';
import { requireSite } from '../purchases/find-purchase.ts';
import { stateOrNull, timeOrNull, timeSchema } from '../purchases/purchase-body.ts';

export function mountThen(app: Api, { sql, limits, settings }: ApiDeps): void {
  app.openapi(thenRoute, async (c) => {
    const { at = anHourBefore, site = null } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    const now = await databaseNow(sql);
    const moment = pastMoment(at(now), now);
    if ('problem' in moment) {
      const error = { field: 'at', value: (c.req.query('at') ?? '').slice(0, 80), detail: moment.problem };
      throw new Problem('invalid_request', `at: ${moment.problem}.`, { errors: [error] });
    }
    const incidentsKept = settings.store.retention.events;
    return c.json(await readThen(sql, { at: moment.is, now, site, limits, incidentsKept }), 200);
  });
}

const anHourBefore = (now: Instant): Instant => now - HOUR;

const thenSchema = named('Then', {
  at: timeSchema.describe('The last whole ten minutes at or before the time that was asked for: everything is as it was then.'),
  site: textOrNull,
  sentence: z.string().describe('The worst of that moment in a sentence; words may change.'),
  rest: z.string().describe('The rest in a second one.'),
  severity: z
    .enum(['warning', 'critical'])
    .nullable()
    .describe('Of the worst incident in which something was wrong; null without one.'),
  notKept: z.string().describe('Facts that nobody can ask about the past.'),
  purchases: orNull(z.object({ watching: z.int(), stuck: z.int() })).describe(
    'Null: no daemon noted it. It is noted every ten minutes.',
  ),
  incidents: listOf({
    id: z.string(),
    kind: z.enum(INCIDENT_KINDS),
    site: textOrNull,
    state: stateOrNull,
    subscriber: textOrNull,
    parent: textOrNull,
    where: z.string(),
    what: z.string(),
    severity: z.enum(['warning', 'critical']).describe('As people were told last; where nobody was told, as it is now.'),
    quiet: z.boolean().describe('Nothing was wrong in it any more.'),
    since: timeSchema.describe('The earliest symptom.'),
    openedAt: timeSchema,
    openMs: z.int().describe('How long it had been open since it opened last.'),
    count: intOrNull.describe('Customers who were stuck in it; null for other kinds, and where it was not noted.'),
    acknowledged: orNull(z.object({ at: timeSchema, by: z.string() })).describe(
      'Who looked after it. Null: nobody, or somebody whose place another person took later.',
    ),
    told: orNull(
      z.object({ at: timeSchema, count: intOrNull, waiting: listOf({ amount: z.string(), currency: z.string() }) }),
    ).describe('The last message that people had got: when, how many were stuck, and the money waiting by then. Null: none yet.'),
  })
    .nullable()
    .describe(
      'Those open at the moment, of all sites, the latest opened first; null where `store.retention.events` has deleted them.',
    ),
  silences: z.array(silenceSchema).describe('Those that held.'),
  flow: orNull(flowSchema).describe('As `GET /v1/flow`, of the hour before; null where no daemon noted how purchases stood.'),
  activity: activitySchema.describe('As `GET /v1/activity`, of the sixty minutes before.'),
  hours: listOf({
    to: timeSchema.describe("The hour's end: `at` of the moment that shows it."),
    came: intOrNull.describe('Customers who came in the hour.'),
    stuck: intOrNull.describe('The most purchases that were stuck at one of its moments.'),
  }).describe('The last 14 days up to now, the oldest hour first; null: no daemon noted it.'),
  opened: listOf({
    id: z.string(),
    where: z.string(),
    severity: z.enum(['warning', 'critical']),
    openedAt: timeSchema,
    endedAt: timeOrNull,
  }).describe('Incidents of these days, the latest opened first; 100 at most.'),
});

/** The answer's body. */
export type ThenBody = z.output<typeof thenSchema>;

const thenRoute = route('GET /v1/then', {
  summary: 'How everything was at a past moment',
  description:
    'The answer of a moment of the last 14 days: how many purchases were watched and stuck, the flow and the activity of the hour before, the incidents and silences of then, and the hours of the 14 days. What became known later is left out. It has not the fields of `GET /v1/overview`, for much of that is not kept. Costs the same whatever is registered.',
  query: {
    at: momentParameter
      .describe('A time of the last 14 days with its zone, or a duration back from now; an hour ago when left out.')
      .optional(),
    site: siteParameter.optional(),
  },
  answers: { 200: jsonAnswer('As it was then.', thenSchema) },
  problems: ['unknown_site'],
});

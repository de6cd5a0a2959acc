/** Polls and deliveries of each minute, for charts. */

import { z } from '@hono/zod-openapi';
import { DEFAULT_MINUTES, MOST_MINUTES, readActivity } from '../../actions/flow/activity.ts';
import { intOrNull, named, numberOrNull, siteParameter, subscriberParameter, textOrNull } from '../http/fields.ts';
import { limitParameter } from '../http/page.ts';
import { type Api, type ApiDeps, jsonAnswer, route } from '../http/route.ts';
import { requireSite, requireSubscriber } from '../purchases/find-purchase.ts';
import { timeSchema } from '../purchases/purchase-body.ts';

export function mountActivity(app: Api, { sql }: ApiDeps): void {
  app.openapi(activityRoute, async (c) => {
    const { site = null, subscriber = null, minutes = DEFAULT_MINUTES } = c.req.valid('query');
    if (site !== null) await requireSite(sql, site);
    if (subscriber !== null) await requireSubscriber(sql, subscriber);
    return c.json(await readActivity(sql, { site, subscriber, minutes }), 200);
  });
}

const minuteSchema = named('ActivityMinute', {
  at: timeSchema.describe("The minute's begin."),
  polls: z.int(),
  failedPolls: z.int().describe('Polls without a usable answer.'),
  changes: z.int().describe('Changes of state.'),
  greatestLagMs: intOrNull.describe('The longest time by which a poll began after it was due; null where no poll was made.'),
  delivered: z.int().describe('Attempts of deliveries whose event the receiver took.'),
  failedAttempts: z.int(),
});

export type ActivityMinute = z.output<typeof minuteSchema>;

const usualSchema = named('ActivityUsual', {
  polls: numberOrNull,
  failedPolls: numberOrNull,
  greatestLagMs: numberOrNull,
  delivered: numberOrNull,
}).describe(
  'A minute of the hour up to now on the days before (14 at most), on average; null until counts of three days are kept, and of lag where no poll was made.',
);

/** A usual minute of this hour. */
export type ActivityUsual = z.output<typeof usualSchema>;

export const activitySchema = named('Activity', {
  at: timeSchema,
  site: textOrNull,
  subscriber: textOrNull,
  usual: usualSchema,
  minutes: z.array(minuteSchema).describe('Each minute, those in which nothing was done, too.'),
});

const activityRoute = route('GET /v1/activity', {
  summary: 'What was done in each minute',
  description:
    'Polls of all sites or of one, attempts of deliveries to all subscribers or to one, over all replicas. Replicas write what they did every ten seconds, so the last minute is not whole yet.',
  query: {
    site: siteParameter.optional(),
    subscriber: subscriberParameter.optional(),
    minutes: limitParameter(MOST_MINUTES)
      .openapi({ default: DEFAULT_MINUTES, description: 'How many minutes, the present one included.' })
      .optional(),
  },
  answers: {
    200: jsonAnswer('The minutes, the oldest first.', activitySchema),
  },
  problems: ['unknown_site'],
});

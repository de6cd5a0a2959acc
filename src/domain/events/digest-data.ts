/** Data of the daily digest for people. */
import { z } from 'zod';
import { TREND_RANGES } from '../trends/period.ts';
import { count, listOf, orNull, readableState, share, time, word } from './fields.ts';

const digestIncident = z.object({
  incidentId: z.string().catch(''),
  kind: z.string().catch('stuck'),
  states: listOf(readableState),
  partOf: orNull(word).describe('The incident of several sites that it is part of.'),
  openedAt: time,
  endedAt: orNull(time),
  count: count.catch(0),
  peak: orNull(count),
  owner: orNull(word),
  cause: orNull(word),
});

const digestSite = z.object({
  site: word.catch('a site'),
  since: orNull(time),
  incidents: listOf(digestIncident),
  overdue: listOf(z.object({ state: readableState, count, since: orNull(time) })),
  stays: listOf(
    z.object({ state: readableState, entrants: count, overdue: count, share: orNull(share), usualShare: orNull(share) }),
  ).describe('What became of stays, on the days (UTC) that ended since.'),
  pace: listOf(
    z.object({
      state: readableState,
      p95Ms: count,
      usualP95Ms: orNull(count),
      limitMs: orNull(count),
      purchases: count.catch(0),
    }),
  ).describe('States in which the slow ones come near the limit.'),
  trend: orNull(
    z.object({
      range: z.enum(TREND_RANGES),
      customers: count,
      paid: count,
      share: orNull(share).describe('Null: too few customers to say.'),
      change: z.enum(['too_few', 'as_before', 'better', 'worse']),
      before: z.object({ customers: count, paid: count, share: orNull(share) }),
    }),
  ).describe("How customers' checkouts ended, beside the time before, as `GET /v1/trends` says it for this range."),
  unreadable: count.catch(0).describe('Purchases that the service no longer knew.'),
  expired: count.catch(0).describe('Purchases that were given up.'),
});

export const digestData = z.object({
  kind: z.literal('digest').catch('digest'),
  since: orNull(time),
  until: orNull(time),
  countedTo: orNull(count).describe('Up to which purchases and deliveries are counted.'),
  sites: listOf(digestSite).describe('Sites with something to report.'),
  quiet: listOf(word).describe('Names of the other sites.'),
  subscribers: listOf(
    z.object({ subscriber: word, givenUp: count.catch(0), parked: count.catch(0), off: z.boolean().catch(false) }),
  ).describe('Subscribers that did not get everything.'),
});

/**
 * The first look at a site: people are alerted once, in one message, of stuck purchases of the site's first load, and nothing
 * is concluded from these.
 */

import { draftOf } from '../../domain/events/make-event.ts';
import { type ChannelRule, modeOf } from '../../domain/incidents/audience.ts';
import { firstLookAt } from '../../domain/incidents/stuck-checkouts.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import { type NewEvent, SITE_SHARD } from '../../postgres/events/events.ts';
import {
  type FirstLookFindings,
  type FirstLookSite,
  firstLooks,
  lookAtSite,
  saveFirstLooks,
} from '../../postgres/incidents/first-look.ts';
import type { Lease } from '../../postgres/shards/leases.ts';
import type { Deps } from '../deps.ts';

/** Ids of the subscribers that get alerts about a site. */
export type RecipientsOf = (site: string) => readonly number[];

/** The moment, and the lease under which it is judged. */
export interface AlertMoment {
  readonly now: Instant;
  readonly lease: Lease;
  /** Asked only when something is due; of all channels, or of those that are wanted. */
  recipients(isWanted?: (channel: ChannelRule) => boolean): Promise<RecipientsOf>;
}

/** How many events were written, and when to look again even if nothing happens; null: not before something does. */
export interface Outcome {
  readonly written: number;
  readonly lookAgainAt: Instant | null;
}

type FirstLookOptions = Pick<Deps, 'sql' | 'log' | 'meters' | 'policy'>;

/** Writes the first looks that are due. A site where all purchases have gone on meanwhile gets none, then or later. */
export async function alertFirstLooks({ sql, log, meters, policy }: FirstLookOptions, moment: AlertMoment): Promise<Outcome> {
  const { now, lease } = moment;
  const waiting = await firstLooks(sql);
  const later = waiting.map((each) => firstLookAt(each, policy)).filter((at) => at > now);
  const lookAgainAt = later.length === 0 ? null : Math.min(...later);
  const due = waiting.filter((each) => firstLookAt(each, policy) <= now);
  if (due.length === 0) return { written: 0, lookAgainAt };

  const seen = await Promise.all(due.map(async (each) => ({ ...each, found: await lookAtSite(sql, each.site) })));
  // Where each of them was alerted of by itself, only channels for incidents still have to know.
  const areAllSingle = ({ found }: { found: FirstLookFindings }): boolean => found.single === stuckOf(found);
  const [recipientsOf, ofIncidentsOnly] = [
    await moment.recipients(),
    await moment.recipients((channel) => modeOf(channel) === 'incidents'),
  ];
  const events = seen.flatMap((each) => {
    const recipients = areAllSingle(each) ? ofIncidentsOnly(each.site) : recipientsOf(each.site);
    return eventsOf(each, recipients, now);
  });
  const sites = await saveFirstLooks(sql, { sites: due.map(({ site }) => site), events, now, lease });
  const written = events.filter(({ site }) => sites.includes(site));
  for (const { draft } of written) meters.committed(draft.type);
  for (const { site, found } of seen.filter((each) => sites.includes(each.site))) {
    const count = stuckOf(found);
    if (count > 0) log.warn({ site, count, registered: found.registered }, 'incident.first_look');
  }
  return { written: written.length, lookAgainAt };
}

function eventsOf(
  { site, found }: FirstLookSite & { found: FirstLookFindings },
  recipients: readonly number[],
  now: Instant,
): NewEvent[] {
  const count = stuckOf(found);
  if (count === 0 || recipients.length === 0) return [];
  const { overdue, registered, unseen } = found;
  const data = {
    kind: 'first_look' as const,
    site,
    count,
    parts: overdue.map(({ state, count: ofState }) => ({ state: namedState(state), count: ofState })),
    registered,
    unseen,
    since: isoTime(Math.min(...overdue.map(({ since }) => since))),
  };
  const draft = draftOf('incident.first_look', { at: now }, data);
  return [{ site, purchase: null, shard: SITE_SHARD, recipients, draft }];
}

function stuckOf({ overdue }: FirstLookFindings): number {
  return overdue.reduce((sum, { count }) => sum + count, 0);
}

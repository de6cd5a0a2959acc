/** Fifteen days before the demo was first started, so that Trends, Then and an aftermath show something in the first minute. */

import { COMPLETED } from '../../domain/deciding/invoice.ts';
import type { PollPolicy } from '../../domain/polling/poll-plan.ts';
import { numberOf } from '../../domain/purchases/states.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { syncSites } from '../../postgres/polling/sites.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { addMark } from '../../postgres/trends/marks.ts';
import {
  analyzeHistory,
  countActivity,
  countTransitions,
  type EndedPurchase,
  isUnused,
  writeEnded,
  writeEndedIncident,
  writeMoments,
} from '../../postgres/upkeep/history.ts';
import { BROKEN_SITE, BROKEN_STATE } from '../cast/settings.ts';
import { drawCustomers, type PastStory, storyBefore } from './customers.ts';
import { messagesOf } from './messages.ts';
import { momentsOf } from './moments.ts';
import { recordedPast } from './record.ts';

/** The `registeredBy` of each purchase of the past, which tells it from the purchases of the demo's shop. */
export const SEEDED_BY = 'demo: seeded history';
const PERSON = 'Kim (seeded)';
const AT_ONCE = 2_000;

/** Writes the past into a database that holds nothing; answers whether it did. No daemon may run on the database; the one that is started next counts the ends, and the aftermath of the incident. */
export async function writeHistory(
  sql: Sql,
  { sites, policy }: { sites: readonly string[]; policy: PollPolicy },
): Promise<boolean> {
  if (!(await isUnused(sql))) return false;
  const now = await databaseNow(sql);
  const story = storyBefore(now);
  const past = drawCustomers(now, story)
    .map((customer, place) => recordedPast(customer, `seeded-${10_001 + place}`, policy))
    // Ids rise with registrations, as they do in a shop: an aftermath counts who came by ids.
    .sort((a, b) => a.registeredAt - b.registeredAt);
  await sql.begin(async (tx) => {
    await syncSites(tx, sites);
    for (let at = 0; at < past.length; at += AT_ONCE) await writeEnded(tx, past.slice(at, at + AT_ONCE), SEEDED_BY);
    await countTransitions(tx);
    await countActivity(tx);
    const incident = incidentOf(past, story);
    await writeEndedIncident(tx, incident, messagesOf(incident, past));
    await addMark(tx, { at: story.newBankPage, text: 'new page of the banks (seeded)', site: 'demo-fi' });
    await addMark(tx, { at: story.badDeploy, text: 'deploy 4.2 (seeded)', site: BROKEN_SITE });
    await addMark(tx, { at: story.brokenTo - MINUTE, text: 'back to 4.1 (seeded)', site: BROKEN_SITE });
    await writeMoments(tx, momentsOf(past, { now, sites, policy }));
  });
  await analyzeHistory(sql);
  return true;
}

/** The incident of the broken page, as the judge would have opened it at the fourth stuck customer. */
function incidentOf(past: readonly EndedPurchase[], { brokenFrom, brokenTo }: PastStory) {
  const state = numberOf(BROKEN_STATE);
  const stays = past
    .filter(({ site }) => site === BROKEN_SITE)
    .flatMap(({ state: end, endedAt, transitions, events }) => {
      const stuck = events.find(({ type }) => type === 'purchase.stuck');
      const came = transitions.find(({ to }) => to === state)?.notAfter ?? 0;
      return stuck !== undefined && came >= brokenFrom && came < brokenTo ? [{ came, stuckAt: stuck.at, endedAt, end }] : [];
    })
    .sort((a, b) => a.stuckAt - b.stuckAt);
  const [first, fourth] = [stays[0]!, stays[3]!];
  const stuckAt = (at: Instant): number => stays.filter((stay) => stay.stuckAt <= at && stay.endedAt > at).length;
  const quietSince = Math.max(...stays.map(({ endedAt }) => endedAt));
  return {
    id: 'inc_seeded',
    site: BROKEN_SITE,
    state,
    since: first.came,
    openedAt: fourth.stuckAt,
    alarm: {
      at: fourth.stuckAt,
      rule: 'share' as const,
      since: first.came,
      entrants: 4,
      overdue: 4,
      usualShare: 0.012,
      perDay: 280,
      falseAlarmEvery: 5_600,
    },
    peak: Math.max(...stays.map((stay) => stuckAt(stay.stuckAt))),
    movedOn: stays.filter(({ end }) => end === COMPLETED).length,
    acknowledgedAt: fourth.stuckAt + 6 * MINUTE,
    quietSince,
    endedAt: quietSince + 10 * SECOND,
    by: PERSON,
    cause: 'deploy',
    note: 'Seeded with the demo: deploy 4.2 broke the way back from the bank; 4.1 mended it.',
  };
}

/** Everything that a message about stuck purchases reads. */

import type { Incident } from '../../domain/incidents/incident.ts';
import { billLine, billOf } from '../../domain/trends/aftermath-words.ts';
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';
import { causeEvidence, earlierAnswer } from '../stays/evidence.ts';
import type { StayLimits } from '../stays/limits.ts';
import { moneyWaiting } from '../stays/money.ts';
import { RECENT, type UsualReader } from '../stays/usual.ts';
import { membersOf } from '../trends/members.ts';
import { readAround, stuckPurchases } from './customers.ts';
import { countStuck } from './incidents.ts';
import { findIncident } from './list.ts';
import { lastMessage } from './messages.ts';
import { singlePlaces } from './stuck-alerts.ts';

/** A state of a site that an incident is made of: since when customers are stuck there, and how many. */
export interface StoryPlace {
  readonly site: string;
  readonly state: number;
  readonly since: Instant;
  readonly count: number;
}

/** Purchases named at most. */
const NAMED = 5;

/**
 * The facts that the message about an incident tells. Null is what is not asked: the limit is that of a single place; causes are looked for while the incident lasts; when it is
 * over, `left` counts who is stuck all the same, `became` says how those who were stuck ended, and `last` is the last message. `usual`: given when the incident takes the place of
 * single alerts; brought up to date then.
 */
export async function readStory(
  sql: Queries,
  {
    incident,
    places,
    limits,
    usual,
    now,
  }: { incident: Incident; places: readonly StoryPlace[]; limits: StayLimits; usual: UsualReader | null; now: Instant },
) {
  const { id, site, state, endedAt } = incident;
  const isOver = endedAt !== null;
  await usual?.refresh(now, RECENT);
  const [place] = places;
  const [money] = await moneyWaiting(sql, [places]);
  return {
    row: await findIncident(sql, id),
    singles: usual === null ? null : await singlePlaces(sql, places),
    limit: places.length === 1 ? limits.limitOf(place!.site, place!.state) : null,
    oldest: await stuckPurchases(sql, { places, limit: NAMED }),
    money: money!,
    evidence: isOver ? null : await causeEvidence(sql, { parts: places, since: Math.min(...places.map(({ since }) => since)) }),
    around: await readAround(sql, { places, until: endedAt ?? now }),
    // The alarm is off, and some may have left.
    left: isOver ? await countStuck(sql, places) : null,
    last: isOver ? await lastMessage(sql, id) : null,
    became: isOver ? billLine(billOf((await membersOf(sql, id)).members)) || null : null,
    earlier: await earlierAnswer(sql, { site, state, except: id, sites: places.map((place) => place.site) }),
  };
}

/** Registers purchases at the wild sites until the hostile service and the hostile receivers have answered often enough. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiDoor } from './api.ts';
import { ANCHOR, RESTING_SITE } from './service.ts';
import { WILD_SITES, type World } from './world.ts';

interface Played {
  readonly service: number;
  readonly receivers: number;
}

const SITES = [...WILD_SITES, RESTING_SITE];
const BATCH = 40;
/** Purchases that are polled all the time. More would only keep the daemon busy, and fill its memory. */
const MOST_POLLED = 400;
/** Of them are answered well all along: a site of whose purchases most fail would be left alone. */
const ANCHORS = 80;
const EVERY = 250;
/** Sites that gave only nonsense are left alone for a while; the next round goes on. */
const LONGEST = 60_000;

/** Answers how many odd answers were played. */
export async function driveTraffic(
  { shop, database, service, receiver }: World,
  api: ApiDoor,
  seed: number,
  wanted: Played,
): Promise<Played> {
  const [services, receivers] = [service.played(), receiver.played()];
  const until = performance.now() + LONGEST;
  const isDone = (): boolean =>
    service.played() - services >= wanted.service && receiver.played() - receivers >= wanted.receivers;
  const polled = async () => {
    const [counts] = await database.sql<[{ all: number; anchors: number }]>`
      select count(*)::integer as all, count(*) filter (where starts_with(purchase_id, ${ANCHOR}))::integer as anchors
      from purchase_watch.purchases where status = 'watching' and site = any (${SITES})
        and next_poll_at between now() - interval '5 seconds' and now() + interval '5 seconds'`;
    return counts;
  };
  for (let batch = 0; !isDone() && performance.now() < until; batch++) {
    const { all, anchors } = await polled();
    const name = anchors < ANCHORS ? ANCHOR : 'fuzz';
    const ids = Array.from({ length: BATCH }, (_, index) => `${name}-${seed}-${batch}-${index}`);
    if (all < MOST_POLLED)
      await shop`
        insert into purchase_watch.purchases (purchase_id, site)
        select id, (${SITES}::text[])[1 + (row_number() over ())::integer % ${SITES.length}]
        from unnest(${ids}::text[]) as id on conflict do nothing`;
    await delay(EVERY);
    if (batch % 4 === 3) await api.resume();
  }
  return { service: service.played() - services, receivers: receiver.played() - receivers };
}

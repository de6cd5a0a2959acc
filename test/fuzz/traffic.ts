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
const EVERY = 250;
/** Sites that gave only nonsense are left alone for a while; the next round goes on. */
const LONGEST = 60_000;

/** Answers how many odd answers were played. */
export async function driveTraffic(
  { shop, service, receiver }: World,
  api: ApiDoor,
  seed: number,
  wanted: Played,
): Promise<Played> {
  const [services, receivers] = [service.played(), receiver.played()];
  const until = performance.now() + LONGEST;
  const isDone = (): boolean =>
    service.played() - services >= wanted.service && receiver.played() - receivers >= wanted.receivers;
  for (let batch = 0; !isDone() && performance.now() < until; batch++) {
    // The first ones are answered well all along: a site of whose purchases most fail would be left alone.
    const ids = Array.from({ length: BATCH }, (_, index) => `${batch === 0 ? ANCHOR : 'fuzz'}-${seed}-${batch}-${index}`);
    await shop`
      insert into purchase_watch.purchases (purchase_id, site)
      select id, (${SITES}::text[])[1 + (row_number() over ())::integer % ${SITES.length}]
      from unnest(${ids}::text[]) as id on conflict do nothing`;
    await delay(EVERY);
    if (batch % 4 === 3) await api.resume();
  }
  return { service: service.played() - services, receivers: receiver.played() - receivers };
}

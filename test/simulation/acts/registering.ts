/** Shops that register purchases, and do it again where that failed. */

import type { World } from '../world.ts';
import type { Act } from './act.ts';
import { AS_SHOP } from './sql.ts';

/** A shop tries again after so many milliseconds. */
const AGAIN_AFTER = 10_000;
/** Purchases that a shop began so many milliseconds before a copy was taken are registered again after the database went back to it. */
const BEFORE_COPY = 60_000;
/** So many milliseconds after the database went back somebody has read what is to be done. */
const READ_AFTER = 20_000;

export function register(world: World, { by, life, count, site }: Extract<Act, { does: 'registers' }>): void {
  const ids = world.outside.make(count, life);
  if (site !== undefined) for (const id of ids) world.second.add(id);
  if (by !== 'api') {
    insert(world, ids, by);
    return;
  }
  const known = world.knows(ids);
  void world.call('POST', '/v1/purchases/batch', { purchases: ids.map((purchaseId) => ({ purchaseId })) }).then((answer) => {
    if (answer !== null && answer.status < 300) known();
  });
}

/** Follows docs/troubleshooting.md: what was begun since a minute before the time to which the database went back. */
export function registerLost(world: World, to: number): void {
  const { scheduler, random } = world.shell;
  const since = scheduler.begin + to - BEFORE_COPY;
  world.owed++;
  scheduler.after(
    READ_AFTER + random.below(READ_AFTER),
    () => {
      world.owed--;
      const lost = world.outside.ids().filter((id) => world.outside.truth(id)!.history[0]!.at >= since);
      insert(
        world,
        lost.filter((id) => !world.untold.has(id)),
      );
    },
    scheduler.world,
  );
}

/** Takes up what was stopped or is lost, too; what a person had erased stays so. */
export function registerAgain(world: World, all: readonly string[], { isUntold = false } = {}): void {
  const ids = all.filter((id) => isUntold || !world.untold.has(id));
  const calls = ids.map((id) => `purchase_watch.watch('${id}'${world.second.has(id) ? ", site => 'second'" : ''})`);
  if (calls.length === 0) return;
  const known = world.knows(ids);
  world.sql(`select ${calls.join()}`, (answer) => {
    if (isUntold || answer.includes('ERROR')) return;
    for (const id of ids) world.stopped.delete(id);
    known();
  });
}

/** Has a shop register purchases by SQL, until it could. */
export function insert(world: World, ids: readonly string[], by: 'sql' | 'view' = 'sql'): void {
  if (ids.length === 0) return;
  const rows = ids.map((id) => `('${id}', '${world.second.has(id) ? 'second' : 'default'}')`);
  const known = world.knows(ids);
  world.owed++;
  const values = `(purchase_id, site) values ${rows.join()}`;
  const statement =
    by === 'sql'
      ? `insert into purchase_watch.purchases ${values} on conflict do nothing`
      : `${AS_SHOP} insert into purchase_watch.registrations ${values} returning id`;
  world.sql(statement, (answer) => {
    if (!answer.includes('ERROR')) {
      world.owed--;
      known();
      return;
    }
    const text = answer.toString('latin1');
    // No daemon has named its sites to a database that was made anew, or none that runs names the second one; or it takes no writes.
    // One of them is registered already: then it goes without the row.
    if (!/23505|is not configured|no site is configured|read-only/i.test(text)) world.problems.push(`an insert failed: ${text}`);
    const again = (): void => {
      world.owed--;
      insert(world, ids);
    };
    world.shell.scheduler.after(AGAIN_AFTER, again, world.shell.scheduler.world);
  });
}

/** What the model is given of a world to judge. */
import { type Got, missingAtRest, neverSent, type Row } from './model.ts';
import { onlyValue } from './world/messages.ts';
import type { World } from './world.ts';

/** What is missing when everything should be at rest. */
export function missing(world: World): string[] {
  const registered = [...world.outside.truths().values()].filter(({ purchaseId }) => world.registered.has(purchaseId));
  return missingAtRest(got(world), rows(world), registered, world.history);
}

/** What happened that may never happen. */
export function forbidden(world: World): string[] {
  const truths = world.outside.truths();
  return [...got(world)].flatMap(([name, list]) => neverSent(name, list, truths, world.history));
}

const got = ({ outside }: World): Map<string, readonly Got[]> =>
  new Map(outside.receivers.map(({ name, got: list }) => [name, list]));

/** Every purchase as SQL shows it. */
function rows(world: World): Row[] {
  return read<Row[]>(
    world,
    "select coalesce(json_agg(json_build_object('purchaseId', purchase_id, 'state', state, 'status', status)), '[]') from purchase_watch.purchases",
  );
}

/** The JSON that a query answers, asked between transactions. */
function read<T>(world: World, sql: string): T {
  let value!: T;
  world.sql(sql, (answer) => {
    value = JSON.parse(onlyValue(answer)) as T;
  });
  return value;
}

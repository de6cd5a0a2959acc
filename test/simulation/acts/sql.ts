/** What people and programs do by SQL beside registering: what the roles refuse, what is undone, and what only the owner of the tables can do. */
import type { World } from '../world.ts';
import { LIVES, type ROW_CHANGES } from './act.ts';

/** Begins a text of several statements, which are one transaction, as a program that may register only. */
export const AS_SHOP = 'set local role purchase_watch_registrar;';

/** As docs/sql.md says: the two roles may do nothing else. */
const REFUSED = [
  'update purchase_watch.purchases set state = 8',
  'delete from purchase_watch.purchases',
  'truncate purchase_watch.purchases cascade',
  "insert into purchase_watch.purchases (purchase_id, status) values ('of nobody', 'settled')",
  "update purchase_watch.registrations set reference = 'another'",
  'delete from purchase_watch.registrations',
  'select body from purchase_watch_internal.events',
  'select * from purchase_watch.current_purchases',
  'set local role purchase_watch_reader; update purchase_watch.current_purchases set state = 8',
];

/** Tries what is refused. */
export function overstep(world: World): void {
  const statement = world.shell.random.one(REFUSED);
  world.sql(`${AS_SHOP} ${statement}`, (answer) => {
    // A view that joins is not to be written by anybody.
    if (!/permission denied|cannot update view|read-only/.test(answer.toString('latin1')))
      world.problems.push(`a login that may register only was not refused: ${statement}`);
  });
}

/** A shop registers purchases in the transaction of an order, which fails: nothing may ever be told of them. */
export function undoOrder(world: World): void {
  const [id] = world.outside.simulator.control
    .addMany(1, { script: world.shell.random.one(LIVES) })
    .map(({ purchaseId }) => purchaseId);
  world.undone.add(id!);
  const order = "do $$ begin raise exception 'the order failed'; end $$";
  world.sql(`${AS_SHOP} insert into purchase_watch.purchases (purchase_id) values ('${id}'); ${order}`);
}

const CHANGES: Record<(typeof ROW_CHANGES)[number], string> = {
  due: `update purchase_watch.purchases set next_poll_at = now(), due_slot = purchase_watch_internal.due_slot(now())
    where status = 'watching'`,
  state: "update purchase_watch.purchases set state = 1 where status = 'watching' and state <> 1",
  gone: 'delete from purchase_watch.purchases where true',
};

/** Somebody who may do everything changes the row of a purchase. */
export function writeRow(world: World, number: number, how: keyof typeof CHANGES): void {
  const ids = world.outside.ids();
  const purchaseId = ids[number % ids.length]!;
  if (how === 'gone') world.leave(purchaseId);
  if (how !== 'due') world.excuses.push({ kind: how === 'gone' ? 'erased' : 'written', at: world.wall, purchaseId });
  world.sql(`${CHANGES[how]} and purchase_id = '${purchaseId}'`);
}

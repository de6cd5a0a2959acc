/**
 * Records the outcome of one poll, in one statement: the purchase as it was seen, with its next poll; after a change also the
 * transition and the event. A queue inside Postgres adds its own jobs in the same statement.
 */
import type { Pool } from 'pg';
import type { ShopEvent } from './http.ts';

/** SQL expressions that plan what follows. They may read `recorded.id` and, after a change, `event.id` and `event.body`. */
interface Following {
  readonly poll: string;
  readonly webhook: string;
}

const UNCHANGED = "polls = polls + 1, seen_at = now(), due_at = now() + $3::integer * interval '1 ms'";

export function createRecorder(pool: Pool, every: number, following: Following = { poll: 'null', webhook: 'null' }) {
  const same = `
    with recorded as (
      update shop.purchases set ${UNCHANGED} where id = $1 and state = $2 returning id)
    select ${following.poll} from recorded`;
  const changed = `
    with before as (select id, state from shop.purchases where id = $1 for update),
    recorded as (
      update shop.purchases p set ${UNCHANGED}, state = $2, sequence = p.sequence + 1
      from before where p.id = before.id returning p.id, p.sequence, before.state as from_state),
    transition as (
      insert into shop.transitions (purchase, sequence, from_state, to_state)
      select id, sequence, from_state, $2 from recorded),
    event as (
      insert into shop.events (id, purchase, body)
      select $4::text, id, json_build_object('id', $4::text, 'type', 'purchase.state_changed', 'timestamp', now(), 'data', json_build_object(
        'purchaseId', id, 'sequence', sequence, 'from', from_state, 'to', json_build_object('value', $2::integer), 'reference', 'ORD-004711'))::text
      from recorded returning id, body)
    select event.id, event.body, ${following.poll}, ${following.webhook} from recorded, event`;
  /** Answers the event of a change; null when the state is the stored one. */
  return async (id: string, state: number): Promise<ShopEvent | null> => {
    const { rowCount } = await pool.query({ name: 'same', text: same, values: [id, state, every] });
    if (rowCount === 1) return null;
    const { rows } = await pool.query<ShopEvent>({
      name: 'changed',
      text: changed,
      values: [id, state, every, `evt_${crypto.randomUUID()}`],
    });
    return rows[0]!;
  };
}

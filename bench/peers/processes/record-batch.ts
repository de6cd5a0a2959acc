/**
 * Records the outcomes of a batch in one statement, for those who get their jobs in batches: all purchases as they were seen,
 * and a transition and an event for each that changed. Answers the events.
 */
import type { ShopEvent } from './http.ts';

/** An event as it was stored, with the id of its purchase. */
interface StoredEvent extends ShopEvent {
  readonly purchase: string;
}

export interface Outcome {
  readonly id: string;
  readonly state: number;
}

/** Whatever runs a statement: here a transaction of the queue. */
export interface Statements {
  executeSql(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

const RECORD = `
  with recorded as (
    update shop.purchases p set polls = p.polls + 1, seen_at = now(), due_at = now() + $3::integer * interval '1 ms',
      state = o.state, sequence = p.sequence + (b.state <> o.state)::integer
    from unnest($1::uuid[], $2::integer[]) as o (id, state) join shop.purchases b using (id)
    where p.id = o.id returning p.id, p.sequence, b.state as from_state, p.state),
  changed as (select *, 'evt_' || gen_random_uuid() as event from recorded where from_state <> state),
  transition as (
    insert into shop.transitions (purchase, sequence, from_state, to_state) select id, sequence, from_state, state from changed)
  insert into shop.events (id, purchase, body)
  select event, id, json_build_object('id', event, 'type', 'purchase.state_changed', 'timestamp', now(), 'data', json_build_object(
    'purchaseId', id, 'sequence', sequence, 'from', from_state, 'to', json_build_object('value', state), 'reference', 'ORD-004711'))::text
  from changed returning id, body, purchase`;

export async function recordBatch(sql: Statements, outcomes: readonly Outcome[], every: number): Promise<StoredEvent[]> {
  const values = [outcomes.map(({ id }) => id), outcomes.map(({ state }) => state), every];
  return (await sql.executeSql(RECORD, values)).rows as StoredEvent[];
}

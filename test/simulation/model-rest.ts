/** What must hold between the database, the receivers and the service: at any moment, and when everything is at rest. */
import { eventsOf, type Facts, FINAL, has, type Model, type Truth } from './model.ts';

/** An event as the database has it, in the order in which events were made. */
export interface Stored {
  readonly id: string;
  readonly type: string;
  readonly purchaseId: string | null;
  readonly sequence: number | null;
  readonly body: string;
}

/** A row of a purchase. */
export interface Row {
  readonly purchaseId: string;
  readonly state: number | null;
  readonly status: string;
  /** When its state was first seen, as events write it. */
  readonly since: string | null;
  readonly isStuck: boolean;
}

/** At any moment: what was sent is what is stored, and what is stored of a purchase has no gap and led to where its row is. */
export function disagreements(
  { taken }: Model,
  stored: readonly Stored[],
  rows: readonly Row[],
  { people, facts: { excuses } }: { people: ReadonlyMap<string, unknown>; facts: Facts },
): string[] {
  const problems: string[] = [];
  const bodies = new Map(stored.map(({ id, body }) => [id, body]));
  const wentBack = has(excuses, 'went back');
  // What tells of no purchase may name an erased one in its texts.
  const isErased = (body: string): boolean =>
    has(excuses, 'erased', (JSON.parse(body) as { data: { purchaseId?: string } }).data.purchaseId);
  for (const [receiver, events] of taken)
    for (const [id, body] of events) {
      const kept = bodies.get(id);
      if (kept === body || isErased(body)) continue;
      if (kept !== undefined) problems.push(`${receiver}: ${id} came with other bytes than are stored`);
      // What is said of a database that cannot be written is stored later.
      else if (!wentBack && !people.has(id)) problems.push(`${receiver}: ${id} came, and is not stored`);
    }
  const last = new Map<string, { sequence: number; state: number | null; isStuck: boolean }>();
  for (const { id, type, purchaseId, sequence, body } of stored) {
    if (purchaseId === null || sequence === null) continue;
    const before = last.get(purchaseId) ?? { sequence: 0, state: null, isStuck: false };
    if (sequence !== before.sequence + 1) problems.push(`${id} is number ${sequence} of ${purchaseId} after ${before.sequence}`);
    const isMove = type === 'purchase.state_changed';
    const state = isMove ? (JSON.parse(body) as { data: { to: { value: number } } }).data.to.value : before.state;
    last.set(purchaseId, { sequence, state, isStuck: type === 'purchase.stuck' || (before.isStuck && !isMove) });
  }
  for (const { purchaseId, state, isStuck, status } of rows) {
    const told = last.get(purchaseId) ?? { state: null, isStuck: false };
    if (told.state !== state && !has(excuses, 'written', purchaseId))
      problems.push(`${purchaseId} is in ${state} (${status}), and its last event says ${told.state}`);
    if (told.isStuck !== isStuck && status === 'watching' && !has(excuses, 'stopped', purchaseId))
      problems.push(`${purchaseId} is ${isStuck ? '' : 'not '}stuck in its row, and its events say otherwise`);
  }
  return problems;
}

/** What is missing when everything is at rest: each row is where its purchase is, and each receiver was told all that is stored. */
export function missingAtRest(
  model: Model,
  stored: readonly Stored[],
  rows: readonly Row[],
  world: { receivers: readonly string[]; registered: readonly Truth[]; facts: Facts },
): string[] {
  const problems: string[] = [];
  const byId = new Map(rows.map((row) => [row.purchaseId, row]));
  for (const { purchaseId, history } of world.registered) {
    const row = byId.get(purchaseId);
    const { state, at } = endOf(history, row?.state ?? null);
    if (row === undefined) problems.push(`${purchaseId} has no row`);
    else if (row.state !== state) problems.push(`${purchaseId} is in ${state}, and its row says ${row.state} (${row.status})`);
    else if (world.facts.limits.has(state) && !row.isStuck)
      problems.push(`${purchaseId} waits in ${state} since ${at}: not stuck yet`);
    for (const receiver of world.receivers) {
      const heard = model.heardOf(receiver, purchaseId);
      if (has(world.facts.excuses, 'went back')) {
        // What was under way when the database went back may come last.
        const events = eventsOf(model.taken.get(receiver) ?? new Map(), purchaseId);
        const isStuckTold = !world.facts.limits.has(state) || events.some(({ type }) => type === 'purchase.stuck');
        if (!isStuckTold || !events.some(({ data }) => (data.to as { value: number } | undefined)?.value === state))
          problems.push(`${receiver}: ${purchaseId} waits or ended in ${state}, and it was never told so`);
        continue;
      }
      if (heard.state !== state) problems.push(`${receiver}: ${purchaseId} is in ${state}, it was told ${heard.state}`);
      else if (world.facts.limits.has(state) && heard.stuckSince === null)
        problems.push(`${receiver}: ${purchaseId} waits in ${state}, and it was not told that it is stuck`);
      if (heard.owed !== null && !has(world.facts.excuses, 'stopped', purchaseId))
        problems.push(`${receiver}: ${purchaseId} recovered, and it was not told`);
    }
  }
  for (const receiver of world.receivers) {
    const taken = model.taken.get(receiver);
    // A test goes to one receiver.
    for (const { id, type } of stored)
      if (!/^(incident\.|subscriber\.test)/.test(type) && !taken?.has(id))
        problems.push(`${receiver}: ${id} (${type}) never came`);
  }
  return problems;
}

/** Where the watch of a purchase ends: in the final state that was seen, whatever comes after, or where the purchase is now. */
function endOf(history: Truth['history'], seen: number | null): Truth['history'][number] {
  return history.find(({ state }) => state === seen && FINAL.has(state)) ?? history.at(-1)!;
}

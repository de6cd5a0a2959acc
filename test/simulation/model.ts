/**
 * What is right, written from the contract and sharing no code with the product: what a receiver may have been sent of each
 * purchase, and what it must have been sent when everything is at rest.
 */
import { begunAgain, type Happening } from './history.ts';

export interface Truth {
  readonly purchaseId: string;
  /** Each state with the moment at which it began, oldest first. */
  readonly history: readonly { readonly state: number; readonly at: number }[];
}

/** One request that a receiver got. */
export interface Got {
  readonly at: number;
  readonly id: string;
  readonly body: string;
  /** Whether the receiver said that it has the event. */
  readonly accepted: boolean;
  readonly signed: boolean;
}

/** A row as the database shows it. */
export interface Row {
  readonly purchaseId: string;
  readonly state: number | null;
  readonly status: string;
}

/** Completed, Error, SessionTimedOut, Cancelled, CreditNotApproved, PaymentHandledByMerchant: nobody looks after them, as no settings recheck. */
const FINAL = [2, 3, 5, 8, 11, 13];

interface Change {
  readonly id: string;
  /** When the receiver got it. */
  readonly at: number;
  readonly sequence: number;
  readonly from: number | null;
  readonly to: number;
  readonly final: boolean;
}

/** The faults in what one receiver was sent, at any moment: what may never happen. */
export function neverSent(
  name: string,
  got: readonly Got[],
  truths: ReadonlyMap<string, Truth>,
  past: readonly Happening[],
): string[] {
  const problems: string[] = [];
  const bodies = new Map<string, string>();
  for (const { id, body, signed } of got) {
    if (!signed) problems.push(`${name}: ${id} has a bad signature`);
    if (bodies.has(id) && bodies.get(id) !== body) problems.push(`${name}: ${id} came with two bodies`);
    bodies.set(id, body);
  }
  for (const [purchaseId, changes] of changesOf(got.filter(({ accepted }) => accepted))) {
    const truth = truths.get(purchaseId);
    if (truth === undefined) problems.push(`${name}: ${purchaseId} is no purchase of ours`);
    else
      problems.push(...faultsOf(changes, truth, begunAgain(past, purchaseId)).map((fault) => `${name}: ${purchaseId}: ${fault}`));
  }
  return problems;
}

/**
 * The faults of one purchase's changes in the order in which a receiver took them first. `again`: from when on the database may lack
 * changes that were sent, so that a number may come again; it then follows one with the number before it.
 */
function faultsOf(changes: readonly Change[], { history }: Truth, again: number): string[] {
  const problems: string[] = [];
  /** Where in the history of the service each change leads. */
  const places: number[] = [];
  changes.forEach(({ sequence, from, to, at }, index) => {
    const isNext = (each: Change): boolean => each.sequence === sequence - 1 && each.to === from;
    const last = index - 1;
    const isFirst = sequence === 1 && from === null;
    const before = at < again ? last : isFirst ? -1 : changes.slice(0, index).findLastIndex(isNext);
    const earlier = changes[before];
    if (at < again && sequence !== index + 1) problems.push(`change ${sequence} came as number ${index + 1}`);
    if (earlier === undefined ? !isFirst : !isNext(earlier))
      problems.push(`change ${sequence} begins in ${from}, and no change before it ended there`);
    if (from === to) problems.push(`change ${sequence} changes nothing`);
    const since = places[before] ?? 0;
    const found = history.findIndex(({ state }, place) => place >= since && state === to);
    if (found < 0) problems.push(`change ${sequence} leads to ${to}, where the purchase was not after ${history[since]?.state}`);
    places.push(Math.max(found, since));
  });
  return problems;
}

/** What is missing when everything is at rest: each row is where its purchase is, and each receiver was sent all that led there. */
export function missingAtRest(
  receivers: ReadonlyMap<string, readonly Got[]>,
  rows: readonly Row[],
  registered: readonly Truth[],
  past: readonly Happening[],
): string[] {
  const problems: string[] = [];
  const changes = [...receivers].map(([name, got]) => [name, changesOf(got.filter(({ accepted }) => accepted))] as const);
  const byId = new Map(rows.map((row) => [row.purchaseId, row]));
  /** Where the watching ends: with the last state, or a final one before it. */
  const isEnd = ({ history }: Truth, state: number | null | undefined): boolean =>
    state === history.at(-1)!.state || history.some((each) => each.state === state && FINAL.includes(each.state));
  for (const truth of registered) {
    const { purchaseId } = truth;
    const row = byId.get(purchaseId);
    const state = `${purchaseId} is in ${truth.history.at(-1)!.state}`;
    if (row === undefined) problems.push(`${purchaseId} has no row`);
    else if (!isEnd(truth, row.state)) problems.push(`${state}, and its row says ${row.state} (${row.status})`);
    for (const [name, got] of changes) {
      const of = got.get(purchaseId) ?? [];
      // What was under way when the database went back may come last.
      const last = begunAgain(past, purchaseId) < Number.POSITIVE_INFINITY ? of : of.slice(-1);
      if (!last.some(({ to }) => isEnd(truth, to) && (row === undefined || to === row.state)))
        problems.push(`${name}: ${state}, and the last change sent leads to ${of.at(-1)?.to}`);
    }
  }
  return problems;
}

/** The changes of each purchase in the order in which they were taken first. */
function changesOf(accepted: readonly Got[]): Map<string, Change[]> {
  const seen = new Set<string>();
  const changes = new Map<string, Change[]>();
  for (const { id, at, body } of accepted) {
    if (seen.has(id)) continue;
    seen.add(id);
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    if (type !== 'purchase.state_changed') continue;
    const of = changes.get(data.purchaseId as string) ?? [];
    const value = (state: unknown): number | null => (state as { value: number } | null)?.value ?? null;
    of.push({
      id,
      at,
      sequence: data.sequence as number,
      from: value(data.from),
      to: value(data.to)!,
      final: data.final as boolean,
    });
    changes.set(data.purchaseId as string, of);
  }
  return changes;
}

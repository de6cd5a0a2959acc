/**
 * What is right, written from the contract and sharing no code with the product: what a receiver may have been sent of each
 * purchase, and what it must have been sent when everything is at rest.
 */
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

interface Change {
  readonly id: string;
  readonly sequence: number;
  readonly from: number | null;
  readonly to: number;
  readonly final: boolean;
}

/** The faults in what one receiver was sent, at any moment: what may never happen. */
export function neverSent(name: string, got: readonly Got[], truths: ReadonlyMap<string, Truth>): string[] {
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
    else problems.push(...faultsOf(changes, truth).map((fault) => `${name}: ${purchaseId}: ${fault}`));
  }
  return problems;
}

/** The faults of one purchase's changes in the order in which a receiver took them first. */
function faultsOf(changes: readonly Change[], { history }: Truth): string[] {
  const problems: string[] = [];
  let at = 0;
  changes.forEach(({ sequence, from, to }, index) => {
    if (sequence !== index + 1) problems.push(`change ${sequence} came as number ${index + 1}`);
    const before = index === 0 ? null : changes[index - 1]!.to;
    if (from !== before) problems.push(`change ${sequence} begins in ${from}, the one before ended in ${before}`);
    if (from === to) problems.push(`change ${sequence} changes nothing`);
    const found = history.findIndex(({ state }, place) => place >= at && state === to);
    if (found < 0) problems.push(`change ${sequence} leads to ${to}, where the purchase was not after ${history[at]?.state}`);
    else at = found;
  });
  return problems;
}

/** What is missing when everything is at rest: each row is where its purchase is, and each receiver was sent all that led there. */
export function missingAtRest(
  receivers: ReadonlyMap<string, readonly Got[]>,
  rows: readonly Row[],
  registered: readonly Truth[],
): string[] {
  const problems: string[] = [];
  const byId = new Map(rows.map((row) => [row.purchaseId, row]));
  for (const { purchaseId, history } of registered) {
    const { state } = history.at(-1)!;
    const row = byId.get(purchaseId);
    if (row === undefined) problems.push(`${purchaseId} has no row`);
    else if (row.state !== state) problems.push(`${purchaseId} is in ${state}, and its row says ${row.state} (${row.status})`);
  }
  for (const [name, got] of receivers) {
    const changes = changesOf(got.filter(({ accepted }) => accepted));
    for (const { purchaseId, history } of registered) {
      const last = changes.get(purchaseId)?.at(-1)?.to;
      const { state } = history.at(-1)!;
      if (last !== state) problems.push(`${name}: ${purchaseId} is in ${state}, and the last change sent leads to ${last}`);
    }
  }
  return problems;
}

/** The changes of each purchase in the order in which they were taken first. */
function changesOf(accepted: readonly Got[]): Map<string, Change[]> {
  const seen = new Set<string>();
  const changes = new Map<string, Change[]>();
  for (const { id, body } of accepted) {
    if (seen.has(id)) continue;
    seen.add(id);
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    if (type !== 'purchase.state_changed') continue;
    const of = changes.get(data.purchaseId as string) ?? [];
    const value = (state: unknown): number | null => (state as { value: number } | null)?.value ?? null;
    of.push({ id, sequence: data.sequence as number, from: value(data.from), to: value(data.to)!, final: data.final as boolean });
    changes.set(data.purchaseId as string, of);
  }
  return changes;
}

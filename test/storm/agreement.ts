/** The rows, the logs of the receivers and the service's truth must agree. Each check answers what is wrong, in sentences. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDaemon } from '../support/daemon.ts';
import type { ReceivedEvent } from '../support/test-app.ts';
import type { Struck } from './rage.ts';
import type { World } from './world.ts';

/** How long after a failover that lost data replicas may still send what only their memory knows. */
const NOTICED_WITHIN = 30_000;
const FINAL = new Set(['Completed', 'Error', 'SessionTimedOut', 'Cancelled', 'CreditNotApproved', 'PaymentHandledByMerchant']);

export interface LoggedEvent extends ReceivedEvent {
  readonly receiver: string;
  readonly body: string;
  /** Epoch milliseconds of the first arrival. */
  readonly at: number;
}

/** The log of a receiver, repeats left out: at least once is promised. */
function logOf({ receivers }: World, name: keyof World['receivers']): LoggedEvent[] {
  const seen = new Set<string>();
  return receivers[name].received.flatMap(({ id, body, at, verified }) => {
    if (verified !== true) throw new Error(`event ${id} came with a bad signature`);
    if (seen.has(id)) return [];
    seen.add(id);
    return [{ ...(JSON.parse(body) as ReceivedEvent), receiver: name, body, at }];
  });
}

/** An event as the database has it now. */
interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  /** The purchase of its row; null for events of sites. */
  readonly purchaseId: string | null;
  /** Names of subscribers to whom it counts as delivered. */
  readonly delivered: readonly string[];
}

/** What the database knows, and what each receiver got of that. Read once everything is delivered. */
export interface Books {
  readonly stored: ReadonlyMap<string, StoredEvent>;
  /** By the subscriber's name, in the order of arrival; without events that the database lost. */
  readonly kept: ReadonlyMap<string, readonly LoggedEvent[]>;
  /** Received, and unknown to the database. */
  readonly lost: readonly LoggedEvent[];
}

export async function readBooks(world: World): Promise<Books> {
  const rows = await world.sql<StoredEvent[]>`
    select e.id, e.type, e.body, p.purchase_id as "purchaseId",
      array(select s.name from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
        where d.event = e.position and d.status = 'delivered' and s.audience = 'systems') as delivered
    from purchase_watch_internal.events e left join purchase_watch.purchases p on p.id = e.purchase`;
  const stored = new Map(rows.map((row) => [row.id, row]));
  const logs = (['shop', 'books'] as const).map((name) => [name, logOf(world, name)] as const);
  return {
    stored,
    kept: new Map(logs.map(([name, log]) => [name, log.filter(({ id }) => stored.has(id))])),
    lost: logs.flatMap(([, log]) => log).filter(({ id }) => !stored.has(id)),
  };
}

/** Purchases whose row does not say what the service says. */
export async function wrongRows({ sql, shop, simulator }: World): Promise<string[]> {
  const rows = await sql<{ purchaseId: string; site: string; status: string; state: number | null }[]>`
    select purchase_id as "purchaseId", site, status, state from purchase_watch.purchases`;
  const found = new Map(rows.map((row) => [row.purchaseId, row]));
  return shop.orders.flatMap(({ id, site }) => {
    const truth = simulator.control.get(id)!;
    const row = found.get(id);
    if (row === undefined) return [`${id} has no row`];
    if (row.state === truth.state.value && row.status === 'settled' && row.site === site) return [];
    return [`${id} is ${truth.state.name} at ${site}, and its row says ${row.status} in state ${row.state} at ${row.site}`];
  });
}

/** Purchases whose changes did not arrive gapless, in order, as the service had them, to the final one, at each receiver. */
export function wrongNews({ shop, simulator }: World, { kept }: Books): string[] {
  return [...kept].flatMap(([name, log]) => {
    const byPurchase = Map.groupBy(log, ({ data }) => data.purchaseId ?? '');
    return shop.orders.flatMap(({ id }) => {
      const wrong = wrongLife(byPurchase.get(id) ?? [], simulator.control.get(id)!);
      return wrong === null ? [] : [`${name} about ${id}: ${wrong}`];
    });
  });
}

type Truth = NonNullable<ReturnType<World['simulator']['control']['get']>>;

function wrongLife(events: readonly LoggedEvent[], truth: Truth): string | null {
  const sequences = events.map(({ data }) => data.sequence);
  if (sequences.some((sequence, index) => sequence !== index + 1)) return `sequences ${sequences.join()}`;
  const changes = events.filter(({ type }) => type === 'purchase.state_changed').map(({ data }) => data.to.value);
  if (changes.at(-1) !== truth.state.value || !FINAL.has(truth.state.name))
    return `the last change delivered is to ${changes.at(-1)}, the service says ${truth.state.name}`;
  return isLived(changes, truth) ? null : `delivered ${changes.join()}, lived ${truth.history.map(({ state }) => state).join()}`;
}

/** Whether a purchase had these states in this order, among others. */
function isLived(states: readonly number[], { history }: Truth): boolean {
  const lived = history.map(({ state }) => state);
  let at = -1;
  return states.every((state) => {
    at = lived.indexOf(state, at + 1);
    return at >= 0;
  });
}

/** Events that name another purchase than their row, came with other bytes than are stored, or count as delivered and never came. */
export function wrongEvents({ receivers }: World, { stored, kept }: Books): string[] {
  const wrong: string[] = [];
  for (const [name, log] of kept) {
    const arrived = new Set(log.map(({ id }) => id));
    for (const { id, delivered } of stored.values())
      if (delivered.includes(name) && !arrived.has(id)) wrong.push(`${id} counts as delivered to ${name}, which never got it`);
    for (const { id, body } of log)
      if (body !== stored.get(id)!.body) wrong.push(`${id} came to ${name} with other bytes than are stored`);
  }
  for (const { id, body, purchaseId, delivered } of stored.values()) {
    const named = (JSON.parse(body) as ReceivedEvent).data.purchaseId ?? null;
    if (purchaseId !== null && named !== purchaseId) wrong.push(`${id} names ${named}, and belongs to ${purchaseId}`);
    const missing = Object.keys(receivers).filter((name) => !delivered.includes(name));
    if (purchaseId !== null && missing.length > 0)
      wrong.push(`${id} about ${purchaseId} was never delivered to ${missing.join()}`);
  }
  return wrong;
}

/** Events that receivers got and that no loss of the database explains, or that were not true of their purchase. */
export function unexplainedLosses({ simulator }: World, { lost }: Books, struck: readonly Struck[]): string[] {
  const losses = struck.filter(({ kind }) => kind === 'lossy failover');
  return lost.flatMap(({ id, at, type, data }) => {
    if (!losses.some(({ from, to }) => from <= at && at <= to + NOTICED_WITHIN))
      return [`${id} about ${data.purchaseId} came, the database does not know it, and lost nothing then`];
    if (type !== 'purchase.state_changed' || isLived([data.to.value], simulator.control.get(data.purchaseId!)!)) return [];
    return [`${id} said that ${data.purchaseId} became ${data.to.name}, which it never did`];
  });
}

/**
 * What an operator does after a loss: the command compares the log of each receiver, and must find the same as this file.
 * Then the operator notes that it is done, and the audit of the rows is whole.
 */
export async function wrongAudits({ env, folder }: World, { kept, lost }: Books): Promise<string[]> {
  const wrong: string[] = [];
  for (const [receiver, log] of kept) {
    const alone = lost.filter((event) => event.receiver === receiver);
    if (lost.length === 0) break;
    const file = join(folder, `${receiver}.log`);
    writeFileSync(file, [...log, ...alone].map(({ id }) => `${id}\n`).join(''));
    const { output } = await run(['audit', '--sent', file, '--subscriber', receiver, '--json'], env);
    if (!new RegExp(`"known": *{[^}]*"gaps": *${alone.length},`).test(output) || !/"arrived": *{[^}]*"gaps": *0,/.test(output))
      wrong.push(`the log of ${receiver} holds ${alone.length} lost events; audit --sent says ${output.slice(0, 500)}`);
  }
  await run(['audit', '--compared'], env);
  const { code, output } = await run(['audit', '--json'], env);
  if (code !== 0 || !output.includes('"whole": true')) wrong.push(`audit ended with ${code}: ${output.slice(0, 2_000)}`);
  return wrong;
}

async function run(args: readonly string[], env: World['env']): Promise<{ code: number | string; output: string }> {
  const command = startDaemon(args, env);
  return { code: await command.end('SIGCONT'), output: command.output() };
}

/** How people are alerted of a database that lost data: the reason in the incident's opening, and the first line of its message. */
const REASON = '"database_went_back"';
const FIRST_LINE = /^\W*🔴.*database (?:came|went) back.*$/imu;

/** Losses of the database that people heard of never, or more than once. */
export function wrongLossAlerts({ slack }: World, { stored }: Books, struck: readonly Struck[]): string[] {
  const losses = struck.filter(({ kind }) => kind === 'lossy failover').length;
  const opened = [...stored.values()].filter(({ type, body }) => type === 'incident.opened' && body.includes(REASON)).length;
  // What Slack took before a fault may come again, below its first line with what happened since; `repeatedMessages` counts that.
  const heard = new Set(slack.received.flatMap(({ text }) => FIRST_LINE.exec(text)?.[0].trim() ?? []));
  if (opened === losses && heard.size === losses) return [];
  const texts = [...heard].map((text) => text.slice(0, 200)).join(' | ');
  return [`${losses} losses of the database, ${opened} incidents about them, ${heard.size} messages: ${texts}`];
}

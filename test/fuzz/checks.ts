/** What must be true after a fuzz run. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startDaemon } from '../support/daemon.ts';
import { brief } from './hostile.ts';
import type { Memory } from './inspector.ts';
import { CALM, HIDDEN, WILD_SITES, type World } from './world.ts';

/**
 * Bytes that may be there afterwards and were not before, and for each input. V8 goes on compiling what is called often (half of
 * the 75 bytes an input that heap snapshots of 100 000 inputs show), and Node keeps what belongs to connections at rest. An
 * object that the daemon kept for each input would take at least a hundred bytes more.
 */
const GROWTH = 4 * 1024 * 1024;
const GROWTH_OF_INPUT = 64;
/**
 * How long the daemon may take until nothing is due: on a machine that does other work, inputs leave tens of thousands of purchases
 * and deliveries behind, of which each holds a kilobyte until it is polled or sent (52 MB were seen after ten seconds).
 */
const SETTLES_WITHIN = 300_000;
const WITHIN = 60_000;
/** Connections of the API at rest end sooner, and with them what they have prepared: one statement for each combination of filters. */
const REST = 10_000;

/** Lets service and receivers answer well until little is on its way, and measures what the daemon holds then. */
export async function settle({ service, receiver, database, inspector }: World, moment: string): Promise<Memory> {
  service.calm(true);
  receiver.calm(true);
  const until = performance.now() + SETTLES_WITHIN;
  while (performance.now() < until) {
    const [row] = await database.sql<[{ busy: number }]>`
      select (select count(*) from purchase_watch.purchases where status = 'watching' and site = any (${[...WILD_SITES]}) and next_poll_at < now() + interval '2 seconds')::integer
        + (select count(*) from purchase_watch.delivery_log where status in ('pending', 'in_flight') and due_at < now() + interval '2 seconds')::integer as busy`;
    if (row.busy === 0) break;
    await delay(500);
  }
  await delay(REST);
  const memory = await inspector.memory();
  const { FUZZ_HEAP } = process.env;
  if (FUZZ_HEAP !== undefined) await inspector.snapshot(join(FUZZ_HEAP, `${moment}.heapsnapshot`));
  service.calm(false);
  receiver.calm(false);
  return memory;
}

/** `inputs`: those of the whole run. Null: as it was before. */
export function memoryFault(before: Memory, after: Memory, inputs: number): string | null {
  const held = ({ heapUsed, external }: Memory): number => heapUsed + external;
  const grown = held(after) - held(before);
  return grown <= GROWTH + inputs * GROWTH_OF_INPUT
    ? null
    : `the daemon holds ${Math.round(grown / 1024)} KiB more than before: ${JSON.stringify({ before, after })}`;
}

/** No input has given all objects of the daemon a property (prototype pollution). */
export async function inheritanceFaults({ inspector }: World): Promise<string[]> {
  const known = Object.getOwnPropertyNames(Object.prototype);
  const added = (await inspector.inherited()).filter((name) => !known.includes(name));
  return added.map((name) => `every object of the daemon has a property ${JSON.stringify(name)}`);
}

/** The daemon is ready, polls, and delivers. */
export async function calmFaults({
  origin,
  shop,
  simulator,
  calmReceiver,
  service,
  receiver,
  database,
  daemon,
}: World): Promise<string[]> {
  if (daemon.process.exitCode !== null)
    return [`the daemon ended with ${daemon.process.exitCode}: ${daemon.output().slice(-3_000)}`];
  const faults: string[] = [];
  service.calm(true);
  receiver.calm(true);
  const { purchaseId } = simulator.control.add({ script: [{ state: 'Completed' }] });
  const wild = 'fuzz-the-last-one';
  await shop`insert into purchase_watch.purchases (purchase_id, site) values (${purchaseId}, ${CALM}), (${wild}, ${WILD_SITES[0]!})`;
  await calmReceiver
    .waitFor((received) => received.some(({ body }) => body.includes(purchaseId)), WITHIN)
    .catch((error: Error) => faults.push(`no webhook of a new purchase: ${error.message}`));
  if (calmReceiver.received.some(({ verified }) => verified === false)) faults.push('a webhook has a bad signature');
  const status = async (): Promise<unknown> =>
    (await database.sql`select status from purchase_watch.purchases where purchase_id = ${wild}`)[0]?.status;
  const until = performance.now() + WITHIN;
  while ((await status()) !== 'settled' && performance.now() < until) await delay(200);
  if ((await status()) !== 'settled') faults.push('the wild sites are not polled any more');
  let ready = '';
  for (const end = performance.now() + WITHIN; performance.now() < end; await delay(500)) {
    const answer = await fetch(`${origin}/readyz`);
    ready = await answer.text();
    if (answer.ok) return faults;
  }
  return [...faults, `not ready: ${ready}`];
}

/** Words that stand for a bug. */
const BUGS = [
  'api.failed',
  'poll.undecided',
  'uncaughtException',
  'unhandledRejection',
  'TypeError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'heap out of memory',
  'MaxListenersExceeded',
];
const MOST_LINES = 10;

/** Lines that callers cause: they have one budget. Of how many a second more are a fault, beyond those that may come at once. */
const CAUSED = /"event":"api\.(?:key_refused|scope_refused|request_rejected|failed|unlogged)"/;
const CAUSED_AT_ONCE = 60;

/** `tokens` are those of sessions; `seconds` is how long the daemon was attacked. */
export function logFaults({ daemon, receiver, calmReceiver }: World, tokens: readonly string[], seconds: number): string[] {
  const lines = daemon.output().split('\n');
  const caused = lines.filter((line) => CAUSED.test(line)).length;
  const bugs = lines.filter((line) => BUGS.some((word) => line.includes(word)));
  const hidden = [...HIDDEN, ...tokens];
  const secrets = lines.filter((line) => hidden.some((secret) => line.includes(secret)));
  const sent = calmReceiver.received.filter(({ body }) => HIDDEN.some((secret) => body.includes(secret)));
  return [
    ...(caused <= CAUSED_AT_ONCE + seconds ? [] : [`callers caused ${caused} lines in ${seconds} seconds`]),
    ...bugs.slice(0, MOST_LINES).map((line) => `the log has a bug: ${brief(line, 2_000)}`),
    ...secrets.slice(0, MOST_LINES).map((line) => `the log holds a secret: ${brief(line, 2_000)}`),
    ...[...receiver.leaks(), ...sent.map(({ body }) => body)]
      .slice(0, MOST_LINES)
      .map((text) => `a message holds a secret: ${text}`),
  ];
}

/** Every change has its event, every event its deliveries. */
export async function auditFaults({ env }: World): Promise<string[]> {
  const audit = startDaemon(['audit', '--json'], { ...env });
  const code = await audit.end('SIGCONT');
  return code === 0 ? [] : [`audit ended with ${code}: ${brief(audit.output(), 3_000)}`];
}

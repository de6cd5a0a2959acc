/** `simulate --register`: every new purchase of the simulator is registered at a daemon, as a shop would do it. */
import { createPurchaseWatchClient } from '../../../packages/client/src/api-client.ts';
import type { Registration } from '../../../packages/client/src/contract.ts';
import { ApiProblem } from '../../../packages/client/src/problem.ts';
import type { Control } from '../../../packages/simulator/src/contract/control.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, wall } from '../../runtime/time.ts';

interface RegistrarParts {
  readonly control: Pick<Control, 'onPurchase'>;
  /** The address of the daemon's API. */
  readonly daemonUrl: string;
  /** Asked before each call: a daemon on this machine makes its key when it first starts. */
  readonly apiKey: () => string | undefined;
  /** Writes one line for people. */
  readonly write: (line: string) => void;
}

/** So long purchases gather for one call. */
const GATHER: Milliseconds = 100;
const FIRST_PAUSE: Milliseconds = 1_000;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** The same failure is written again after this time. */
const REPEAT_AFTER: Milliseconds = 60_000;
const MOST_AT_ONCE = 10_000;
/** Beyond, new purchases are not registered. */
const MOST_WAITING = 100_000;

/** Advice about a failure, by its code. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ['unreachable', 'start the daemon there, or correct --register'],
  ['unexpected_answer', 'correct --register: it must be the address of a daemon'],
  [
    'unauthorized',
    'set API_KEY to a key with the scope register, or DATA_DIR to the folder of a daemon on this machine that has no keys',
  ],
  ['read_only_key', 'set API_KEY to a key with the scope register'],
  ['missing_scope', 'set API_KEY to a key with the scope register'],
]);

/** Registers what comes from now on. Throws TypeError for an address that cannot be right; failures are written, and tried again. */
export function createRegistrar({ control, daemonUrl, apiKey, write }: RegistrarParts) {
  const client = () => createPurchaseWatchClient({ baseUrl: daemonUrl, apiKey: apiKey() });
  client();
  const ending = new AbortController();
  const { signal } = ending;
  const waiting: Registration[] = [];
  /** Sites of the simulator that the daemon does not have. */
  const foreign = new Set<string>();
  const failures = createFailures(daemonUrl, write);
  let wake = Promise.withResolvers<void>();
  let dropped = 0;

  const ignore = control.onPurchase(({ purchaseId, site, reference }) => {
    if (waiting.length < MOST_WAITING) waiting.push({ purchaseId, site, reference });
    else dropped += 1;
    wake.resolve();
  });

  /** Sends a batch; what the daemon rejects for its site comes to the daemon's own site. */
  async function send(batch: readonly Registration[]): Promise<void> {
    const named = batch.map((each) => (foreign.has(each.site ?? '') ? { ...each, site: undefined } : each));
    const { rejected } = await client().watchMany(named, { signal });
    const elsewhere = rejected.filter(({ index, code }) => code === 'unknown_site' && named[index]?.site !== undefined);
    for (const { index } of elsewhere) foreign.add(batch[index]?.site ?? '');
    for (const each of rejected) {
      if (!elsewhere.includes(each)) write(`not registered: ${batch[each.index]?.purchaseId}: ${each.detail}`);
    }
    if (elsewhere.length > 0) await send(elsewhere.map(({ index }) => batch[index]!));
  }

  /** Answers how long to wait before the next try. */
  async function attempt(): Promise<Milliseconds> {
    const batch = waiting.slice(0, MOST_AT_ONCE);
    try {
      await send(batch);
    } catch (error) {
      if (signal.aborted) return 0;
      // The daemon that answers next may have other sites.
      foreign.clear();
      return failures.failed(error, waiting.length);
    }
    waiting.splice(0, batch.length);
    failures.succeeded(batch.length);
    if (dropped > 0) write(`not registered: ${dropped} purchases that came while ${MOST_WAITING} waited`);
    dropped = 0;
    return GATHER;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await wake.promise;
      wake = Promise.withResolvers();
      const pause = await attempt();
      await delay(pause, undefined, { signal }).catch(() => undefined);
      if (waiting.length > 0) wake.resolve();
    }
  }

  const ended = run();
  return {
    /** Ends it; what still waits is not registered. */
    async close() {
      ignore();
      ending.abort();
      wake.resolve();
      await ended;
    },
  };
}

/** Says what failed, without a line for each try, and how long to wait. */
function createFailures(daemonUrl: string, write: (line: string) => void) {
  let pause = FIRST_PAUSE;
  let written: { readonly text: string; readonly at: number } | null = null;
  return {
    failed(error: unknown, waiting: number): Milliseconds {
      const { code, detail, retryAfter } =
        error instanceof ApiProblem ? error : { code: 'failed', detail: String(error), retryAfter: null };
      const wait = Math.min(retryAfter === null ? pause : retryAfter * 1_000, LONGEST_PAUSE);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      const advice = ADVICE.get(code);
      const text = `${daemonUrl} registers nothing: ${detail}${advice === undefined ? '' : `; ${advice}`}`;
      if (written?.text !== text || wall() - written.at >= REPEAT_AFTER) {
        write(`${text}. ${waiting} wait; the next try is in ${formatDuration(wait)}.`);
        written = { text, at: wall() };
      }
      return wait;
    },
    succeeded(count: number): void {
      if (written !== null) write(`${daemonUrl} registers again: ${count} that waited are registered.`);
      written = null;
      pause = FIRST_PAUSE;
    },
  };
}

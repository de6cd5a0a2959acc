/**
 * The dead man's switch: an address that is called every minute while all is well. When the calls stop, for whatever reason,
 * a service outside notices. The replica that judges calls it, because what it says of its own judge is what
 * counts.
 */

import { Agent, request } from 'undici';
import { hasBegun, reasonToWithhold } from '../../domain/replicas/dead-mans-switch.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { DIRECT, type Way } from '../../domain/values/way.ts';
import { LEASES } from '../../postgres/migrations/names.ts';
import { channelsForPeople, noteSwitchCall } from '../../postgres/shards/dead-mans-switch.ts';
import { takeLease } from '../../postgres/shards/leases.ts';
import { connectBy, ProxyFailed } from '../../runtime/http/tunnel.ts';
import type { Health } from '../../runtime/loops/health.ts';
import { timeoutSignal } from '../../runtime/time.ts';
import type { Deps } from '../deps.ts';

const EVERY: Milliseconds = 60_000;
/** Until the loops have done their first work, which takes a few seconds. */
const UNTIL_BEGUN: Milliseconds = 1_000;
/** When it could not be called, or another replica calls it: soon enough that one lost packet is no alarm. */
const AGAIN: Milliseconds = 15_000;
const TIMEOUT: Milliseconds = 10_000;

/**
 * `url` is a secret (with it anyone can keep the alarm quiet) and may be any address, because the operator sets it; `ceilings`: how
 * many messages an hour each channel for people may get, by its subscriber's name.
 */
export function createDeadMansSwitch({
  sql,
  clock,
  log,
  replica,
  url,
  health,
  ceilings,
  way = DIRECT,
  timeout = TIMEOUT,
}: Pick<Deps, 'sql' | 'clock' | 'log' | 'replica'> & {
  url: string;
  way?: Way;
  health: Pick<Health, 'seen'>;
  ceilings: ReadonlyMap<string, number>;
  timeout?: Milliseconds;
}) {
  const agent = new Agent({ connect: connectBy(way, { timeout }) });
  const startedAt = clock.monotonic();
  /** The last line logged, so that each is logged once. */
  let logged: string | null = null;
  let closed = false;
  const say = (event: 'dead_mans_switch.withheld' | 'dead_mans_switch.failed', detail: string): void => {
    if (logged !== event + detail && !closed) log.warn({ detail }, event);
    logged = event + detail;
  };

  /** Null when it was taken. */
  const call = async (): Promise<string | null> => {
    try {
      const { statusCode, body } = await request(url, {
        headers: { 'user-agent': 'purchase-watch', 'accept-encoding': 'identity' },
        signal: timeoutSignal(timeout),
        dispatcher: agent,
      });
      // Nothing in it is of use, and it may be endless.
      body.on('error', () => undefined).destroy();
      return statusCode < 300 ? null : `It answered ${statusCode}.`;
    } catch (error) {
      return whyNot(error, timeout);
    }
  };

  return {
    /** Calls once if all is well; answers how long to rest. Rejects while the database does not answer. */
    tick: async (): Promise<Milliseconds> => {
      if ((await takeLease(sql, { name: LEASES.judge, replica })) === null) {
        logged = null;
        return AGAIN;
      }
      // Right after the start nothing is wrong yet.
      if (!hasBegun(health.seen(), clock.monotonic() - startedAt)) return UNTIL_BEGUN;
      const now = clock.now();
      const reason = reasonToWithhold(health.seen(), await channelsForPeople(sql, now, ceilings), now);
      if (reason !== null) {
        say('dead_mans_switch.withheld', reason);
        return AGAIN;
      }
      const failure = await call();
      if (failure !== null) {
        say('dead_mans_switch.failed', failure);
        return AGAIN;
      }
      if (logged !== null) log.info({}, 'dead_mans_switch.resumed');
      logged = null;
      await noteSwitchCall(sql, clock.now());
      return EVERY;
    },
    /** Breaks off a call that is under way, without a word. */
    close: (): Promise<void> => {
      closed = true;
      return agent.destroy();
    },
  };
}

/** In a sentence without the address. */
function whyNot(error: unknown, timeout: Milliseconds): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `It did not answer within ${timeout} ms.`;
  if (error instanceof ProxyFailed) return error.message;
  return `No answer came (${(error as NodeJS.ErrnoException).code ?? 'no code is known'}).`;
}

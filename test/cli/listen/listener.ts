/** The command `listen` as a process of its own, and the daemon's own channel that sends to it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { SendResult } from '../../../src/channels/outgoing/channel.ts';
import { createWebhookChannel } from '../../../src/channels/webhook/webhook.ts';
import type { EventData } from '../../../src/domain/events/system-event-types.ts';
import { namedState } from '../../../src/domain/purchases/states.ts';
import { quickStart } from '../../support/daemon.ts';

const BIN = fileURLToPath(new URL('../../../bin/purchase-watch.mjs', import.meta.url));
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const OTHER = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export interface Listener {
  readonly process: ChildProcess;
  readonly url: string;
  /** What stands on standard output, and beside it. */
  out(): string;
  err(): string;
  /** Resolves once either matches. */
  until(pattern: RegExp): Promise<void>;
  /** Sends the signal and answers the exit code; without one waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `listen` at a free port, and waits until it listens; it ends with the test at the latest. */
export async function listener(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Listener> {
  const child = spawn(process.execPath, [BIN, 'listen', '--port', '0', ...args], {
    env: { ...quickStart(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const text = { out: '', err: '' };
  let look = (): void => undefined;
  for (const name of ['out', 'err'] as const) {
    child[`std${name}`].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
      look();
    });
  }
  const until = async (pattern: RegExp): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      look = () => (pattern.test(text.out) || pattern.test(text.err)) && resolve();
      look();
    });
    const end = ended.then(() => {
      if (!pattern.test(text.out) && !pattern.test(text.err)) throw new Error(`ended without ${pattern}: ${text.out}${text.err}`);
    });
    await Promise.race([seen, end]);
  };
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(/https?:\/\/[^/]+\/[\s\S]*\n/);
  return {
    process: child,
    url: /https?:\/\/[^/\s]+\//.exec(text.err)![0],
    out: () => text.out,
    err: () => text.err,
    until,
    end: async (signal) => {
      if (signal !== undefined) child.kill(signal);
      return (await ended)[0];
    },
  };
}

/** Sends as a daemon with these keys would. */
export function sender(url: string, keys: readonly string[] = [SECRET], format: 'standard' | 'cloudevents' = 'standard') {
  const channel = createWebhookChannel({
    url,
    format,
    keys: keys.map((key) => ({ key, until: null })),
    timeout: 15_000,
    allowAddresses: ['127.0.0.0/8'],
    concurrency: 4,
    userAgent: 'purchase-watch/test',
  });
  onTestFinished(() => channel.close());
  return async (id: string, body: string, at = Date.now()): Promise<SendResult & { httpStatus: number | null }> =>
    channel.send({ id, type: 'purchase.state_changed', body }, { attempt: 1, now: at });
}

/** The body of a change of state. */
export function changed(
  id: string,
  sequence: number,
  { from = null, to = 2, at = new Date() }: { from?: number | null; to?: number; at?: Date } = {},
) {
  const timestamp = at.toISOString();
  const data: EventData<'purchase.state_changed'> = {
    ...{ site: 'se', purchaseId: '2f1c9a7e', sequence, from: from === null ? null : namedState(from), to: namedState(to) },
    ...{ notBefore: null, notAfter: timestamp, final: false, reference: null, metadata: null },
    ...{ price: 7, currency: 'SEK', orderReference: null },
  };
  const body = { id, type: 'purchase.state_changed', timestamp, data };
  return JSON.stringify(body).replace('"price":7', '"price":249.50');
}

/** The memory of another Node process after a collection of its garbage, and what all of its objects inherit, read through its inspector. */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { Daemon } from '../support/daemon.ts';

/** Bytes. */
export interface Memory {
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
  readonly rss: number;
}

export interface Inspector {
  memory(): Promise<Memory>;
  /** Writes everything that its heap holds to a file, which the developer tools of Chrome open. */
  snapshot(path: string): Promise<void>;
  /** The names that every object has. */
  inherited(): Promise<string[]>;
  /** The process waits for this before it ends. */
  close(): void;
}

type Result = { readonly result?: { readonly value?: string } };

/** The answer to a call, or part of a snapshot. */
interface Message {
  readonly id?: number;
  readonly result?: Result;
  readonly params?: { readonly chunk?: string };
}

/** Makes a process listen for `inspect`. */
export const INSPECTED = '--inspect=127.0.0.1:0';

/** Connects to a daemon that was started with `INSPECTED` and has said that it started. */
export async function inspect(daemon: Daemon): Promise<Inspector> {
  // `start` begins once more as the same process (bin/purchase-watch.mjs), and the inspector with it.
  const address = [...daemon.output().matchAll(/ws:\/\/\S+/g)].at(-1)![0];
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`cannot inspect the process at ${address}`));
  });
  let last = 0;
  const waiting = new Map<number, (result: Result) => void>();
  let keep: (chunk: string) => void = () => undefined;
  socket.onmessage = ({ data }) => {
    const { id, result, params } = JSON.parse(String(data)) as Message;
    if (params?.chunk !== undefined) keep(params.chunk);
    if (id === undefined) return;
    waiting.get(id)?.(result ?? {});
    waiting.delete(id);
  };
  const call = (method: string, params = {}): Promise<Result> =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  const evaluate = async (expression: string): Promise<unknown> =>
    JSON.parse((await call('Runtime.evaluate', { expression: `JSON.stringify(${expression})` })).result!.value!);
  return {
    inherited: async () => (await evaluate('Object.getOwnPropertyNames(Object.prototype)')) as string[],
    memory: async () => {
      // Weak references and finalizers need a second one.
      await call('HeapProfiler.collectGarbage');
      await call('HeapProfiler.collectGarbage');
      return (await evaluate('process.memoryUsage()')) as Memory;
    },
    snapshot: async (path) => {
      const file = openSync(path, 'w');
      keep = (chunk) => writeSync(file, chunk);
      await call('HeapProfiler.takeHeapSnapshot');
      closeSync(file);
    },
    close: () => socket.close(),
  };
}

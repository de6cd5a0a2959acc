/** What the stand-up of real brokers has in common: free ports, a process that can be paused, killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** A real broker of a test, alone on its port and in its folder. */
export interface Broker {
  /** Of a user who may do everything. */
  readonly url: string;
  /** Kills it: connections break at once. What it has confirmed is still there after `start`. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and with the same data; resolves when it takes connections. */
  start(): Promise<void>;
  /** It keeps its connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Where a program is installed, or null. Brokers are in folders that only root has in its PATH. */
export function installed(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', '/usr/lib/rabbitmq/bin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A child process that is gone when this one ends. */
export interface Child {
  readonly process: ChildProcess;
  /** Resolves when it has said the text; rejects with what it said when it ends before, or after a minute. */
  says(text: string): Promise<void>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
}

export function startChild(command: string, args: readonly string[], env: Record<string, string>): Child {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const killed = (): void => void child.kill('SIGKILL');
  process.once('exit', killed);
  let output = '';
  let onOutput = (): void => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
      onOutput();
    });
  }
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => {
      process.off('exit', killed);
      resolve();
    });
  });
  return {
    process: child,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const give = (reason: string): void => reject(new Error(`${command} ${reason}; it said:\n${output.slice(-4_000)}`));
        const timer = setTimeout(() => give(`did not say "${text}" in time`), 60_000);
        onOutput = () => {
          if (!output.includes(text)) return;
          clearTimeout(timer);
          resolve();
        };
        onOutput();
        void ended.then(() => give('ended'));
      }),
  };
}

/** A Redis for the peer that needs one: on a free port, keeping nothing on disk, in a process that ends with the bench. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { until } from '../measure.ts';

export interface Redis {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<Redis> {
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', tmpdir()];
  const child = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const failed = new Promise<never>((_, reject) =>
    child.once('error', () =>
      reject(new Error('redis-server is missing: BullMQ needs it (Debian: apt-get install redis-server)')),
    ),
  );
  failed.catch(() => undefined);
  let log = '';
  child.stdout.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  // Redis must not outlive a bench that dies.
  process.once('exit', () => child.kill('SIGKILL'));
  await Promise.race([failed, until('Redis is ready', async () => log.includes('Ready to accept connections'), 10_000, 20)]);
  return {
    port,
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** How long exports of a million events take, and the memory of the command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveSize, fillArchive } from './archive.ts';
import type { Bench } from './bench.ts';
import type { Row } from './report.ts';

const FULL: ArchiveSize = { purchases: 333_334, events: 3 };
const QUICK: ArchiveSize = { purchases: 20_000, events: 3 };
const BIN = join(import.meta.dirname, '../bin/purchase-watch.mjs');
const RUNS = ['transitions --format csv', 'transitions --format jsonl', 'stays --format csv', 'deliveries --format csv'];
const LOOK_EVERY = 50;

export const exports: Bench = async (lab, { quick, say }) => {
  const size = quick ? QUICK : FULL;
  const share = (size.purchases * size.events) / 1_000_000;
  const database = await lab.database();
  await fillArchive(database.sql, size, say);
  const rows: Row[] = [];
  for (const run of RUNS) {
    const { ms, mb, lines } = await measure(['export', ...run.split(' '), '--quiet'], database.url);
    say(`${run}: ${lines} lines in ${Math.round(ms)} ms, ${Math.round(mb)} MB`);
    rows.push({ what: run, value: ms, unit: 'ms', atMost: 60_000 * share });
    rows.push({ what: `${run}: memory, at most`, value: mb, unit: 'MB', atMost: 250 });
  }
  await database.drop();
  return {
    bench: 'exports',
    how: `${size.purchases * size.events} events, by the command, its output counted and dropped`,
    rows,
  };
};

async function measure(argv: readonly string[], DATABASE_URL: string): Promise<{ ms: number; mb: number; lines: number }> {
  const begun = performance.now();
  const child = spawn(process.execPath, [BIN, ...argv], {
    env: { PATH: process.env.PATH, DATABASE_URL },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let lines = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) lines += 1;
  });
  let mb = 0;
  const look = setInterval(() => {
    const [, kb = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
    mb = Math.max(mb, Number(kb) / 1024);
  }, LOOK_EVERY);
  const [code] = (await once(child, 'exit')) as [number];
  clearInterval(look);
  if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}`);
  return { ms: performance.now() - begun, mb, lines };
}

/**
 * Worlds in processes of their own, which they take over. The clock of a process only goes on: the seeds of its worlds must grow, begin
 * anew in another process where their clock does, and a plan that is run again needs a new process.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Plan } from '../acts/plan.ts';
import type { Outcome } from '../outcome.ts';
import { SEEDS } from '../world/time.ts';

export interface Task {
  readonly plan: Plan;
  /** The file that gets the world's log. */
  readonly log?: string | undefined;
  /** The name of a guard that the product does not have in this world. */
  readonly without?: string;
}

/** What became of a world. */
export interface Report extends Partial<Outcome['figures']> {
  readonly seed: number;
  readonly digest: string;
  /** Real milliseconds, and those of the processor. */
  readonly ms: number;
  readonly cpu: number;
  readonly problems: readonly string[];
}

/** A world takes seconds, many in a crowd of processes. One that takes longer goes in a circle. */
const WITHIN = 10 * 60_000;

export function startProcess() {
  // Each world leaves files there.
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-prove-'));
  const child = spawn(process.execPath, [join(import.meta.dirname, 'worker.ts')], {
    env: { PATH: process.env.PATH, TMPDIR: folder },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-2_000);
  });
  // The process ended before it took a plan; the end of its output says so.
  child.stdin.on('error', () => undefined);
  let isOver = false;
  return {
    isOver: (): boolean => isOver,
    run: async (task: Task): Promise<Report> => {
      const began = performance.now();
      child.stdin.write(`${JSON.stringify(task)}\n`);
      const timer = setTimeout(() => child.kill('SIGKILL'), WITHIN);
      const { value, done } = await lines.next();
      clearTimeout(timer);
      if (!done) return JSON.parse(value) as Report;
      isOver = true;
      await ended;
      const cause = child.signalCode === null ? `it ended the process: ${errors.trim()}` : 'it did not end';
      const ms = Math.round(performance.now() - began);
      return { seed: task.plan.seed, digest: '', ms, cpu: 0, problems: [`the world could not be run: ${cause}`] };
    },
    end: async (): Promise<void> => {
      child.stdin.end();
      await ended;
    },
  };
}

/** Runs the tasks in so many processes side by side. Within each process their seeds grow when they grow here. */
export async function runTasks(
  tasks: Iterator<Task>,
  jobs: number,
  onReport: (report: Report, task: Task) => void,
): Promise<void> {
  const work = async (): Promise<void> => {
    let own: ReturnType<typeof startProcess> | null = null;
    let round = 0;
    for (let next = tasks.next(); !next.done; next = tasks.next()) {
      const { seed } = next.value.plan;
      if (Math.floor(seed / SEEDS) !== round) {
        round = Math.floor(seed / SEEDS);
        await own?.end();
        own = null;
      }
      own ??= startProcess();
      onReport(await own.run(next.value), next.value);
      if (own.isOver()) own = null;
    }
    await own?.end();
  };
  await Promise.all(Array.from({ length: jobs }, work));
}

/** Runs one world in a process of its own. */
export async function runAlone(plan: Plan, log?: string): Promise<Report> {
  const own = startProcess();
  const report = await own.run({ plan, log });
  await own.end();
  return report;
}

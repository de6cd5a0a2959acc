/** What a world came to. */
import { createHash } from 'node:crypto';
import { MINUTE } from './acts/act.ts';
import type { World } from './world.ts';

export interface Outcome {
  readonly problems: readonly string[];
  /** Of all that was logged and received. */
  readonly digest: string;
  readonly figures: {
    readonly statements: number;
    readonly steps: number;
    readonly purchases: number;
    readonly requests: number;
    readonly minutes: number;
  };
  readonly log: readonly string[];
}

export function outcomeOf(world: World): Outcome {
  const requests = [...world.outside.receivers, world.outside.pager].flatMap(({ got }) => got);
  const { log } = world.daemons;
  const digest = createHash('sha256')
    .update(log.join(''))
    // Daemons name the process that they run in.
    .update(JSON.stringify([requests, world.outside.said]).replaceAll(`process ${process.pid}`, 'process'))
    .digest('hex')
    .slice(0, 16);
  return {
    problems: world.problems,
    digest,
    figures: {
      statements: world.server.count,
      steps: world.shell.scheduler.steps,
      purchases: world.registered.size,
      requests: requests.length,
      minutes: Math.round(world.shell.scheduler.now / MINUTE),
    },
    log,
  };
}

/** A hostile receiver: it takes most events, in odd ways. Slack's webhook and the dead man's switch lead to it, too. */
import fc from 'fast-check';
import { oddText } from '../api/generate.ts';
import { hostileJson } from './hostile.ts';
import { type HostileServer, rowOf, startHostileServer } from './server.ts';
import { wireAnswers } from './wire-answers.ts';

export interface HostileReceiver extends HostileServer {
  /** What arrived with one of the texts that must never leave; the first few. */
  leaks(): readonly string[];
}

const body = fc.oneof(fc.constantFrom('ok', '', 'invalid_blocks', 'no_service', 'rate_limited'), oddText, hostileJson);
const MOST_LEAKS = 5;

/** Starts one that looks for `secrets` in what it gets. */
export async function startHostileReceiver(seed: number, secrets: readonly string[]): Promise<HostileReceiver> {
  const next = rowOf(wireAnswers(body, 9), seed);
  const leaks: string[] = [];
  const look = (text: string): void => {
    if (leaks.length < MOST_LEAKS && secrets.some((secret) => text.includes(secret))) leaks.push(text.slice(0, 2_000));
  };
  const server = await startHostileServer(
    (asked) => {
      look(asked.body);
      return next();
    },
    (asked) => {
      look(asked.body);
      return 'ok';
    },
  );
  return { ...server, leaks: () => leaks };
}

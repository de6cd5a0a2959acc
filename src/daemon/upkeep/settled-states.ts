/** Says at the start how many settled purchases are in states that the settings do not call final any more. */

import { type PollPolicy, policyOf } from '../../domain/polling/poll-plan.ts';
import { stateBoth, stateName } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { countSettled } from '../../postgres/polling/watch-settled.ts';
import type { Logger } from '../../runtime/logger.ts';

/** Logs a line for each such state. Such purchases stay settled: watching them again may take many polls, so a person decides. */
export async function sayNotFinal(sql: Sql, policy: PollPolicy, log: Logger): Promise<void> {
  for (const { state, count } of await countSettled(sql)) {
    if (policyOf(policy, state).final) continue;
    const name = stateName(state);
    const detail = `The state ${stateBoth(state)} was final when these purchases settled, and is not final any more. They stay settled and are not polled.`;
    const advice = `to watch them again: ${commandLine`watch --settled ${state < 0 || name.startsWith('Unknown') ? state : name}`} (--dry-run counts them)`;
    log.warn({ state: name, purchases: count, detail, advice }, 'states.not_final');
  }
}

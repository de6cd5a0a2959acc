/** `watch --settled`: watches settled purchases of a state again that is not final any more. */

import type { Sql } from '../../actions/database.ts';
import { countSettled, FIRST_POLLS_A_SECOND, watchSettledAgain } from '../../actions/purchases/many.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { policyOf } from '../../domain/polling/poll-plan.ts';
import { STATE_NAMES, stateBoth, stateName, stateValue } from '../../domain/purchases/states.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { confirm } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { type OpenDatabase, withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printRemark } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { requireSite } from '../terminal/site.ts';

const OTHERWISE = 'watching many purchases again needs a yes: say --yes to do it, or --dry-run to see how many there are';

/** Counts the purchases that settled in a state (a name or a number), asks, and watches them again. */
export async function watchSettledPurchases(
  context: CliContext,
  { settled, site, yes, dryRun, json }: { settled: string; site: string | null; yes: boolean; dryRun: boolean; json: boolean },
): Promise<void> {
  const state = stateOf(settled);
  const work = async ({ sql, settings }: OpenDatabase): Promise<void> => {
    const count = await settledAt(sql, state, site);
    const within = humanDuration((count / FIRST_POLLS_A_SECOND) * 1_000);
    if (!json) printLine(context, `${counted(count, 'settled purchase')}: ${stateBoth(state)}.`);
    if (policyOf(settings.policy, state).final) printRemark(context, finalText(stateBoth(state)));
    const isDone = dryRun || count === 0;
    const question = `Watch ${count === 1 ? 'it' : `all ${count}`} again? First polls are spread over ${within}.`;
    if (!isDone && !yes) await confirm(context, { question, otherwise: OTHERWISE, refused: 'nothing was changed', json });
    const watched = isDone ? 0 : await watchAll(sql, { state, site });
    if (json) return printJson(context, { state: stateName(state), settled: count - watched, watched });
    if (isDone) return printLine(context, `Nothing was changed${dryRun ? ' (--dry-run)' : ''}.`);
    printLine(context, `Watching ${counted(watched, 'purchase')} again; first polls are spread over ${within}.`);
  };
  await withDatabase(context, work, { restsOn: ['polling'] });
}

function stateOf(text: string): number {
  const state = stateValue(text);
  if (state !== null) return state;
  const problem = `${JSON.stringify(text)} is not a state name or number${suggestion(text, STATE_NAMES)}`;
  throw new AppError('invalid', `--settled: ${problem}`);
}

async function settledAt(sql: Sql, state: number, site: string | null): Promise<number> {
  await requireSite(sql, site ?? undefined);
  return (await countSettled(sql, site)).find((each) => each.state === state)?.count ?? 0;
}

const finalText = (name: string): string =>
  `The settings of this terminal say that the state is final: ${name}. A daemon with the same settings settles each purchase again with its next poll.`;

async function watchAll(sql: Sql, which: Parameters<typeof watchSettledAgain>[1]): Promise<number> {
  const count = await watchSettledAgain(sql, which);
  if (count > 0) await recordCommand(sql, 'watch settled', { state: stateName(which.state), count });
  return count;
}

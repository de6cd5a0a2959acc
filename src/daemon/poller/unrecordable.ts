/**
 * The record of a poll whose outcome the database refuses: a failure of the purchase's own, so that the row, `why`, events
 * and people say what the matter is. The state stays as it was, and the next poll that can be recorded ends it.
 */

import { decideOwnTrouble } from '../../domain/deciding/failed.ts';
import type { Trouble } from '../../domain/purchases/purchase.ts';
import type { Deps } from '../deps.ts';
import type { DecidedPoll } from './locked-rows.ts';
import type { Windows } from './window/due-reads.ts';

interface InsteadOptions extends Pick<Deps, 'policyFor' | 'skipped' | 'spread'> {
  readonly windows: Windows;
}

/** Answers the polls to record in place of a refused one, in this order until the database takes one. */
export function createInsteadOf({ windows, policyFor, skipped, spread }: InsteadOptions) {
  return ({ entry, decided: { now, askedAt } }: DecidedPoll, error: unknown): DecidedPoll[] => {
    const { purchase } = entry;
    // The answer was not recorded, so the same answer again is none that is known.
    entry.digest = null;
    const trouble = { kind: 'malformed', ...refusal(error) };
    const context = { now, askedAt, policy: policyFor(purchase.site), skipped: skipped(), spread: spread(), strikes: 0 };
    const outcome = decideOwnTrouble(purchase, trouble, context);
    const quiet = {
      ...outcome,
      kind: 'failed' as const,
      isAlarming: false,
      events: [],
      purchase: { ...outcome.purchase, ...unannounced(purchase) },
    };
    const outcomes = outcome.events.length === 0 ? [outcome] : [outcome, quiet];
    return outcomes.map((each) => {
      const { slot, stays } = windows.get(purchase.site)!.place(entry, each.nextPollAt, now);
      return { entry, stays, decided: { outcome: each, askedAt, now, slot } };
    });
  };
}

/** An event that the database refuses, too, is tried again with the next poll. */
function unannounced({ status, sequence, invoice }: DecidedPoll['entry']['purchase']) {
  return { status, sequence, invoice };
}

/** The reason of such a failure. */
export const UNRECORDABLE = 'unrecordable';

/** Names the error and what refused the values, never the values. */
function refusal(error: unknown): Trouble {
  const { code, schema_name, table_name, constraint_name } = (error ?? {}) as Readonly<Record<string, unknown>>;
  const named = [
    ...(typeof code === 'string' ? [`error ${code}`] : []),
    ...(typeof constraint_name === 'string' ? [`constraint ${constraint_name}`] : []),
    ...(typeof table_name === 'string' ? [`table ${schema_name}.${table_name}`] : []),
  ];
  const what = named.length === 0 ? '' : ` (${named.join(', ')})`;
  return {
    reason: UNRECORDABLE,
    detail: `The service answered, and the database refuses to record it${what}. Look for a constraint or a trigger that was added to the tables, and at poll.unrecordable in the log.`,
    httpStatus: null,
    retryAfter: null,
  };
}

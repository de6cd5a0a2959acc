/** One log line for each thing a recorded poll brought. */
import type { PollOutcome } from '../../domain/deciding/outcome.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import { namedState } from '../../domain/purchases/states.ts';
import type { Logger } from '../../runtime/logger.ts';

/** `accepted` is false when the outcome was refused: the shard or the purchase changed meanwhile. */
export function logOutcome(
  log: Logger,
  { site, purchaseId }: Purchase,
  { kind, reason, codes = [], lastError, events, transition }: PollOutcome,
  accepted: boolean,
): void {
  const about = { site, purchaseId };
  if (!accepted || kind === 'failed') log.debug({ ...about, reason: accepted ? reason : 'refused', codes }, 'poll.failed');
  if (!accepted) return;
  for (const { type, sequence } of events) {
    if (type === 'purchase.unreadable') log.warn({ ...about, sequence, reason, codes, detail: lastError }, type);
    else if (type !== 'purchase.state_changed') log.info({ ...about, sequence }, type);
    else if (transition !== null) {
      const from = transition.from === null ? null : namedState(transition.from).name;
      log.info({ ...about, sequence, from, to: namedState(transition.to).name }, type);
    }
  }
}

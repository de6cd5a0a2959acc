/** `listen` says when what it refused has led to a pause: otherwise nothing comes, without a reason on the screen. */

import { databaseNow } from '../../actions/database.ts';
import { findSubscriber } from '../../actions/subscribers/subscribers.ts';
import { offAdvice } from '../../actions/subscribers/test-event.ts';
import { FAILURES_TO_PAUSE } from '../../domain/deliveries/subscriber-health.ts';
import { afterFailures } from '../../domain/deliveries/subscriber-state.ts';
import { untilText } from '../../domain/explain/standing.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import type { Instant, Milliseconds } from '../../domain/values/time.ts';
import { delay } from '../../runtime/time.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';

/** Hears of every answer that a daemon got: whether it was a yes. */
export type Answered = (isYes: boolean) => void;

/** A pause is written a moment after the answer that led to it; a busy daemon takes longer. */
const LOOKS: readonly Milliseconds[] = [500, 3_000];

/** For a subscriber of one's own: looks after each refusal how the daemon took it, and says so once for each pause. */
export function watchPauses(
  context: CliContext,
  { name, say, signal }: { name: string; say: (text: string) => void; signal: AbortSignal },
): Answered {
  let isLooking = false;
  let shown: Instant | 'off' | null = null;

  const look = async (): Promise<void> => {
    const { subscriber, now } = await withDatabase(context, async ({ sql }) => ({
      subscriber: await findSubscriber(sql, name),
      now: await databaseNow(sql),
    }));
    const off = subscriber === null ? null : offAdvice(subscriber);
    if (off !== null && shown !== 'off') say(off);
    const health = subscriber?.health ?? null;
    const until = off === null ? (health?.pausedUntil ?? null) : 'off';
    if (typeof until === 'number' && until > now && until !== shown) {
      say(
        `${name} is paused until ${untilText(until, now)} ${afterFailures(health!.failures)}; then one delivery tries. At once: ${commandLine`subscribers resume ${name}`}`,
      );
    }
    shown = until;
  };

  const lookAfterwards = async (): Promise<void> => {
    for (const wait of LOOKS) {
      await delay(wait, undefined, { signal });
      await look();
    }
  };
  return (isYes) => {
    if (isYes || isLooking || signal.aborted) return;
    isLooking = true;
    // A database that is away for a moment is no reason to end, nor is the end itself.
    void lookAfterwards()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false;
      });
  };
}

/** For a subscriber of a daemon whose database is not at hand: says what to expect, once for each row of refusals. */
export function guessPauses(say: (text: string) => void): Answered {
  let inARow = 0;
  return (isYes) => {
    inARow = isYes ? 0 : inARow + 1;
    if (inARow !== FAILURES_TO_PAUSE) return;
    say(
      `${FAILURES_TO_PAUSE} refusals in a row: a daemon pauses its subscriber for a minute then, and twice as long each time. At once, where its settings are: purchase-watch subscribers resume <name>`,
    );
  };
}

/** Whether people were alerted of a stuck purchase by itself, and why (not). */
import { audienceOf, type ChannelRule, modeOf } from '../incidents/audience.ts';
import { enoughKnown, isShareKnown, MOST_GATHERED, tooLittleKnown } from '../incidents/stuck-checkouts.ts';
import { statePlace } from '../purchases/states.ts';
import { ENOUGH_STAYS } from '../stays/usual.ts';
import { humanDuration } from '../values/duration.ts';
import { type Instant, isoTime } from '../values/time.ts';
import type { Facts, SingleFacts } from './facts.ts';
import type { ExplanationStep } from './step.ts';

/** The alerts about the purchase by itself: that it is stuck, and later that it is over. */
export function singleSteps({ singles }: Facts): ExplanationStep[] {
  return singles.flatMap((single): ExplanationStep[] => {
    const { alertedAt, endedAt, state, unreadable } = single;
    const [became, over] =
      unreadable === null
        ? [`it is stuck ${statePlace(state)}: ${whySingle(single)}`, 'it is no longer stuck']
        : [`it cannot be read (${unreadable})`, 'it can be read again'];
    const { channels } = single;
    const alert = (at: Instant | null, what: string): ExplanationStep[] =>
      at === null ? [] : [{ kind: 'alert', channels, at, text: `alerted people${channelsText(single)} that ${what}` }];
    return [...alert(alertedAt, became), ...alert(endedAt, over)];
  });
}

/** Whether and when the first look at its site alerts people of a stuck purchase; null when it does not. */
function firstLookStanding(facts: Facts, channels: readonly ChannelRule[] = []): string | null {
  const { purchase, singles, firstLook, hasPeople, now } = facts;
  const single = singles.find(({ since }) => since === purchase.stateSince);
  const about = { kind: 'stuck', severity: 0, subscriber: null } as const;
  const isHeard = channels.length === 0 ? hasPeople : audienceOf(about, [purchase.site], channels).length > 0;
  if (firstLook === null || single?.alertedAt != null || !isHeard) return null;
  const { foundAt, alertedAt, isBacklog } = firstLook;
  const look = `the first look at site ${purchase.site}`;
  if (alertedAt !== null) return `${look} alerted people of it ${humanDuration(Math.max(now - alertedAt, 0))} ago`;
  const latest = foundAt + MOST_GATHERED;
  if (single !== undefined && !isBacklog) return null;
  return `${look} alerts people of it${latest <= now ? ' in a moment' : `, at ${isoTime(latest).slice(11, 19)}Z at the latest`}`;
}

/** How people are alerted of a purchase that is stuck now, when no incident is open; null when the settings are not known. */
export function singleStanding(facts: Facts, channels: readonly ChannelRule[] | undefined): string | null {
  const { purchase, singles, known, now } = facts;
  const firstLook = firstLookStanding(facts, channels);
  if (firstLook !== null) return firstLook;
  const single = singles.find(({ since }) => since === purchase.stateSince);
  if (single !== undefined && single.alertedAt !== null) {
    return `people were alerted of it ${humanDuration(Math.max(now - single.alertedAt, 0))} ago${channelsText(single)}: ${whySingle(single)}`;
  }
  if (single !== undefined)
    return 'people are about to be alerted of it (it is collected for slack.groupWait, and waits while a silence holds)';
  if (channels === undefined || channels.length === 0) return null;
  const modes = new Set(channels.filter(({ sites }) => sites === null || sites.includes(purchase.site)).map(modeOf));
  if (!modes.has('auto') && !modes.has('each')) return 'people are alerted by incidents only (slack.stuck: incidents)';
  if (modes.has('each')) return null;
  return isShareKnown(known) ? `people are alerted by incidents only, because ${enoughKnown(known)} (slack.stuck: auto)` : null;
}

/** Why it alerted by itself, after a note when its first poll found it there. */
function whySingle(single: SingleFacts): string {
  const late = single.foundLate
    ? 'found late, as it came with the first load of its site and was there already at its first poll; '
    : '';
  return `${late}${reasonOf(single)}`;
}

function reasonOf(single: SingleFacts): string {
  const { mode, counted, perDay, isLast } = single;
  if (mode === 'each') return 'each stuck checkout alerts (slack.stuck: each)';
  const numbers = { counted: counted ?? 0, perDay };
  const share = counted !== null && counted >= ENOUGH_STAYS ? 0 : null;
  if (isLast && isShareKnown({ share, perDay })) return `the last one by itself, because ${enoughKnown(numbers)}`;
  return `each stuck checkout alerts because ${tooLittleKnown(numbers)}`;
}

function channelsText({ channels }: SingleFacts): string {
  return channels.length === 0 ? '' : ` (${channels.join(', ')})`;
}

/** The numbers of a message about stuck purchases in a few words: the share, how sure it is, the limit, the money. All of it markup. */

import { markWords, sliceWords } from '../../../domain/incidents/slice.ts';
import { ENOUGH_EXITS } from '../../../domain/stays/dwell.ts';
import { apart, grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import { DAY, HOUR } from '../../../domain/values/time.ts';
import type { EventAlarm, StuckIncident, Working } from '../events/stuck-event.ts';
import { customers } from './draft.ts';
import { moment, plain } from './mrkdwn.ts';

/** Currencies named at most. */
const NAMED = 5;
const LONGEST_AMOUNT = 40;
const LONGEST_SLICE = 120;
const LONGEST_MARK = 240;

/**
 * How many of those who came since it began did not get on, beside what is usual; null when that was not counted. What was
 * counted when it was noticed is long outgrown by the numbers beside it, and says so.
 */
export function shareText({ alarm, lately, parts }: StuckIncident): string | null {
  if (alarm === null) return null;
  const { rule, entrants, overdue, usualShare } = alarm;
  const usual = usualShare === null || rule === 'sparse' ? '' : `\nusually ${inHundred(usualShare)}`;
  const first = parts.length > 1 ? ' where it was noticed first' : '';
  // The usual share is known of one place, and these customers are counted at all places.
  if (lately !== null)
    return `${grouped(lately.overdue)} of ${customers(lately.entrants)} since it began did not get on in time${usual}${usual && first}`;
  if (entrants === null || overdue === null) return null;
  return `${grouped(overdue)} of ${customers(entrants)} when this was noticed${first && `,${first}`}${usual}`;
}

/** The narrowest slice that holds the fault, since when, and who got stuck in it and elsewhere; null when none is known. */
export function sliceText(incident: StuckIncident): string | null {
  const { slice } = incident;
  if (slice === null) return null;
  const { inside, elsewhere } = slice;
  const counted = `${grouped(inside.stuck)} of ${customers(inside.came)} got stuck, elsewhere ${grouped(elsewhere.stuck)} of ${grouped(elsewhere.came)}`;
  return `${plain(sliceWords(slice), LONGEST_SLICE)}, since ${moment(slice.since)}${markText(incident)}\n${counted}`;
}

/** The mark near the beginning, in words that follow the beginning; empty when there is none. */
export function markText({ mark, slice, alarm, since }: StuckIncident): string {
  return mark === null ? '' : `, ${plain(markWords(mark, slice?.since ?? alarm?.since ?? since), LONGEST_MARK)}`;
}

function inHundred(share: number): string {
  const hundredths = Math.round(share * 100);
  return hundredths < 1 ? 'fewer than 1 in 100' : `about ${hundredths} in 100`;
}

/** How much the alarm is to be trusted; null when that was not computed. */
export function trustText({ rule, perDay, falseAlarmEvery }: EventAlarm): string | null {
  if (rule === 'sparse') {
    const often = perDay === null ? '' : ` (${perDay < 1 ? 'fewer than one' : `about ${grouped(Math.round(perDay))}`} a day)`;
    return `Few customers come here${often}, so this rests on two in a row who did not get on, and none after them who did.`;
  }
  if (falseAlarmEvery === null) return null;
  const rarely = `By chance alone, such an alarm comes once in about ${grouped(Math.round(falseAlarmEvery))} customers`;
  if (perDay === null || perDay === 0) return `${rarely}.`;
  return `${rarely}, which is about every ${roughly(falseAlarmEvery / perDay)} with the ${grouped(Math.max(1, Math.round(perDay)))} a day who come here.`;
}

/** A length of time as one number, for what is not known better. */
function roughly(days: number): string {
  if (days < 2) return humanDuration(Math.max(1, Math.round(days * 24)) * HOUR);
  if (days < 60) return `${Math.round(days)} days`;
  return days < 730 ? `${Math.round(days / 30)} months` : `${grouped(Math.round(days / 365))} years`;
}

/** After how long a customer counts as stuck, and where that comes from. */
export function limitWords(limitMs: number, dwell: Working | null): string {
  const limit = humanDuration(Math.min(limitMs, 1_000 * DAY));
  if (dwell === null) return limit;
  const { usualMs, p95Ms, purchases, source } = dwell;
  if (source === 'default')
    return `${limit}, the default, as too little is known yet (${purchases ?? 0} of ${ENOUGH_EXITS} purchases)`;
  const known = [
    ...(usualMs === null ? [] : [`usual ${humanDuration(usualMs)}`]),
    ...(p95Ms === null ? [] : [`95 % under ${humanDuration(p95Ms)}`]),
    ...(purchases === null ? [] : [`from ${grouped(purchases)} purchases${source === 'pooled' ? ' of all sites' : ''}`]),
  ];
  // The event has one source for a limit that the settings name and for the state's default.
  const written = `${limit}${source === 'configured' ? ', by the settings or their default' : ''}`;
  return [written, ...(known.length === 0 ? [] : [known.join(', ')])].join('\n');
}

/** The amounts of the purchases that wait, by currency. */
export function moneyText({ waiting, unpriced, atLeast }: Pick<StuckIncident, 'waiting' | 'unpriced' | 'atLeast'>): string {
  // A sum that is shortened would be a wrong one.
  const known = waiting.filter(({ amount }) => /^-?\d+(\.\d+)?$/.test(amount) && amount.length <= LONGEST_AMOUNT);
  const most = atLeast ? 'at least ' : '';
  const shown = known.slice(0, NAMED).map(({ amount, currency }) => `${most}${apart(amount)} ${plain(currency, 10)}`);
  const more = waiting.length - shown.length;
  return [
    ...shown,
    ...(more > 0 ? [`and ${grouped(more)} more ${more === 1 ? 'currency' : 'currencies'}`] : []),
    ...(unpriced > 0 ? [`and ${grouped(unpriced)} without a known amount`] : []),
  ].join('\n');
}

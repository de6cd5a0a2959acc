/** Trends in one sentence that a manager can forward. */

import { stateWords } from '../../domain/purchases/states.ts';
import type { ShareChange } from '../../domain/trends/compare.ts';
import { RANGE_WORDS, type TrendRange } from '../../domain/trends/period.ts';
import { counted } from '../../domain/values/counts.ts';

interface Part {
  readonly customers: number;
  readonly share: number | null;
  readonly change: ShareChange;
  readonly before: { readonly customers: number; readonly share: number | null };
}
interface WayPart extends Part {
  readonly state: { readonly value: number } | null;
}

/** The ways that are named at most. */
const MOST_WAYS = 2;

/** `since`: when counting began, where that is within the range; null otherwise. */
export function sentenceOf(range: TrendRange, total: Part, ways: readonly WayPart[], since: string | null): string {
  const { length, before } = RANGE_WORDS[range];
  const time = since === null ? `In the last ${length}` : `Since ${since}, when counting began,`;
  const { customers, share } = total;
  // The present day, or hour, is left out.
  if (customers === 0) return `No customer's checkout ended in the ${length} before ${range === '24h' ? 'this hour' : 'today'}.`;
  if (share === null) return `${time} ${counted(customers, 'customer')} came: too few to say more.`;
  // Those whose loss grew most are named first: most customers may be lost elsewhere, now as before.
  const worse = ways
    .filter((way) => way.change === 'worse' && way.state !== null)
    .sort((a, b) => moreLost(b) - moreLost(a))
    .slice(0, MOST_WAYS)
    .map((way) => `${stateWords(way.state!.value)} (${points(way)} percentage points less)`);
  const where = worse.length === 0 ? '' : `; the loss grew most among customers last ${worse.join(' and ')}`;
  return `${time} ${percent(share)} of ${counted(customers, 'customer')} paid${comparedWords(total, before)}${where}.`;
}

function comparedWords(total: Part, before: string): string {
  if (total.before.customers === 0) return '; there is no time before to compare with';
  if (total.change === 'too_few') return `; in ${before} there were too few to compare with`;
  if (total.change === 'as_before')
    return `; in ${before} ${percent(total.before.share ?? 0)}, a difference that chance can make`;
  return `, ${points(total)} percentage points ${total.change === 'better' ? 'more' : 'less'} than in ${before}`;
}

const moreLost = ({ customers, share, before }: Part): number => customers * ((before.share ?? 0) - (share ?? 0));

const points = ({ share, before }: Part): number => Math.round(Math.abs((share ?? 0) - (before.share ?? 0)) * 1_000) / 10;

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;

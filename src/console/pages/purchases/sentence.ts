/** The most important facts of a purchase, in one sentence. */
import type { ExplanationBody } from '../../../api/purchases/explanation-body.ts';
import type { PurchaseDetailsBody } from '../../../api/purchases/purchases.ts';
import { isCustomerAtWork } from '../../../domain/polling/poll-plan.ts';
import { checkoutEnd, knownState, numberOf, stateWords } from '../../../domain/purchases/states.ts';
import { sentence as sentenceOf } from '../../../domain/values/sentence.ts';
import { MINUTE } from '../../../domain/values/time.ts';
import { amountOf } from '../../parts/purchases.ts';
import { leastOf, type Stay, staysOf, stayText } from '../../pictures/stays.ts';

const PAID = numberOf('Completed');
const IN_FORM = numberOf('BeingProcessed');
/** A shorter wait is none that a person asks about. */
const LONG_WAIT = MINUTE;

/** `Paid 249.50 SEK; waited about 20 min for the card provider.` */
export function purchaseSentence(purchase: PurchaseDetailsBody, why: ExplanationBody): string {
  const { state, transitions, stuckSince } = purchase;
  const amount = amountOf(purchase);
  const stays = staysOf(transitions, []);
  const stay = stays.at(-1);
  if (state === null || stay === undefined) return `No state is known yet${amount === null ? '' : ` of ${amount}`}.`;
  const now = Date.parse(why.at);
  const words = stateWords(state.value);
  const begin = sentenceOf(words);
  const waited = waitText(stays.slice(0, -1), now);
  if (state.value === PAID) return `Paid${amount === null ? '' : ` ${amount}`}${waited}.`;
  const sum = amount === null ? '' : `, with ${amount}`;
  if (checkoutEnd(state.value) !== null) return `${begin}${sum}${waited}.`;
  const long = stuckSince === null ? '' : ', longer than the limit';
  return `${begin} for ${stayText(stay, now)}${long}${sum}.`;
}

/** The meaning of the state, in the words of the specification; null where the sentence says all of it. */
export function meaningOf({ state }: Pick<PurchaseDetailsBody, 'state'>): string | null {
  if (state === null || state.value === PAID) return null;
  return `${knownState(state.value)?.meaning ?? 'The specification does not list this state'}.`;
}

/** The longest wait outside of the check-out form, as the end of a sentence; empty when none was long. */
function waitText(stays: readonly Stay[], now: number): string {
  const waits = stays.filter(
    ({ state }) => (isCustomerAtWork(state.value) && state.value !== IN_FORM) || stateWords(state.value).startsWith('waiting'),
  );
  const longest = waits.toSorted((a, b) => leastOf(b, now) - leastOf(a, now))[0];
  if (longest === undefined || leastOf(longest, now) < LONG_WAIT) return '';
  return `; waited ${stayText(longest, now)} ${stateWords(longest.state.value).replace(/^waiting /, '')}`;
}

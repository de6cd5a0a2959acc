/**
 * Why customers may be stuck: the causes that are documented, what to do about each, and which of them the data speaks for.
 * Pure. Every cause has a section of its own in docs/alerts.md.
 */

import { numberOf, statePlace } from '../purchases/states.ts';
import type { Instant, Milliseconds } from '../values/time.ts';
import type { Exits } from './detection.ts';

/** The texts about a cause in an alert; plain texts of 280 characters at most. */
export interface Cause {
  /** A few words. */
  readonly title: string;
  /** The fault, in the specification's words where the specification has some. */
  readonly cause: string;
  /** Where to look first. */
  readonly remedy: string;
  /** The id of the cause's heading in docs/alerts.md. */
  readonly anchor: string;
}

/** The documented causes, and the answers a person may give besides. The keys are stored and do not change. */
export const CAUSES = {
  provider: {
    title: 'The provider has trouble',
    cause:
      'Several sites are affected at once. What they share is the provider that customers are sent to, rather than one page.',
    remedy:
      "Look at the status page of the identity or card payment provider and ask it. If your sites share one checkout page, look at that page's last deploy as well. Offer another way to pay until it is over.",
    anchor: 'the-provider-has-trouble',
  },
  new_checkout: {
    title: 'The return page starts a new checkout',
    cause:
      'Customers come back, and the page negotiates a new purchase for the same order instead of rendering the one that waits.',
    remedy:
      'Make a test purchase, go to the bank and come back: the page must show the same purchase id as before. Look for code on the return page that calls the negotiation again, or that lost the id with the session.',
    anchor: 'the-return-page-starts-a-new-checkout',
  },
  deploy: {
    title: 'A deploy broke the page',
    cause:
      'It worked and suddenly stopped: a deploy, a script of someone else on the page, or a Content-Security-Policy that forbids the frame or the form (frame-src, form-action).',
    remedy:
      "Find out what changed at that minute on the checkout page, tag manager and headers included, and take it back. Then open the page with the browser's console: it names each script and each blocked frame or form target.",
    anchor: 'a-deploy-broke-the-page',
  },
  late_return: {
    title: 'Late returns meet an expired session',
    cause:
      'Customers who come back after the session has ended find an expired session: the purchase times out exactly then, while those who are quicker get on.',
    remedy:
      'On the return page ask for the payment status first, and decide by that instead of by the session in the browser. Start over only if the status says that the purchase is over.',
    anchor: 'late-returns-meet-an-expired-session',
  },
  return_request: {
    title: "The bank's return request lacks the session",
    cause:
      'Only card payments are affected. Banks return with a cross-site POST, and a browser does not send a session cookie that is SameSite=Lax with it: the page does not know which purchase it is about.',
    remedy:
      'Take the purchase id from the address of the return page, not from the session. Try it with a test card that asks for confirmation (3-D Secure), and look in the access log for POST requests that end in a login or an empty cart.',
    anchor: 'the-banks-return-request-lacks-the-session',
  },
  framed: {
    title: 'A frame keeps customers from leaving',
    cause:
      'Customers enter the state and nobody gets on or tries again: as when the checkout is in a sandboxed frame that may not navigate the page around it.',
    remedy:
      "Look at the frames around the checkout: a sandbox attribute needs allow-top-navigation and allow-forms. The browser's console names a refused navigation. Try apps with a built-in browser, too.",
    anchor: 'a-frame-keeps-customers-from-leaving',
  },
  rerender: {
    title: 'The page cannot render itself again',
    cause:
      'The customers were redirected to a card payment provider and have not been redirected back: the hosting page may not be able to render itself repeatedly.',
    remedy:
      'Pay a test purchase by card: the page you come back to must show the same purchase again. Reload it: it must do so a second time. Then look at what was deployed last on it.',
    anchor: 'the-page-cannot-render-itself-again',
  },
  redirect: {
    title: 'The page does not handle redirects',
    cause:
      "The customers were redirected to an external identity provider and have not been redirected back: the merchant's hosting page may not handle redirects correctly.",
    remedy:
      'Identify yourself in a test purchase and come back: the page must show the same purchase again. Try it on a phone with the app as well, where the way back may open another browser.',
    anchor: 'the-page-does-not-handle-redirects',
  },
  cart_update: {
    title: 'The cart changed while the customer was away',
    cause: 'The purchase was updated after its customer had been sent to the provider, so what comes back does not fit any more.',
    remedy:
      'Do not update the purchase while it waits for a provider: ask for the status before each update of the cart, and leave it alone until the customer is back.',
    anchor: 'the-cart-changed-while-the-customer-was-away',
  },
  abandoned: {
    title: 'Customers left by themselves',
    cause:
      'Nothing was broken: these customers did not want to go on, and there were more of them than usual, by chance or after a campaign.',
    remedy: 'Nothing has to be repaired. If it happens often, look at the limit of this state: it may be too short.',
    anchor: 'customers-left-by-themselves',
  },
  other: {
    title: 'Something else',
    cause: 'A person found another cause; the note says which.',
    remedy: 'Read the note that was left with the answer, and see whether it is the same again.',
    anchor: 'something-else',
  },
  unknown: {
    title: 'Nobody found out',
    cause: 'It ended without anybody finding the cause.',
    remedy: 'Start with what was deployed last, make a test purchase, and compare the times with those of other systems.',
    anchor: 'nobody-found-out',
  },
} as const satisfies Readonly<Record<string, Cause>>;

export type CauseKey = keyof typeof CAUSES;

/** A cause that an incident was given may be of a later version. */
export const isCauseKey = (cause: string): cause is CauseKey => Object.hasOwn(CAUSES, cause);

/** One state of one site in which customers are stuck. */
export interface CausePart {
  readonly site: string;
  readonly state: number;
  /** Customers stuck now. */
  readonly count: number;
  /** When the latest customer came who got on and completed; null when none is known. */
  readonly lastWellAt: Instant | null;
  /** Customers who came in the hour before that, its end included, and got on. */
  readonly wellBefore: number;
  /** Customers who came after that and are stuck; 0 when `lastWellAt` is null. */
  readonly stuckSinceThen: number;
}

/** The facts that the ranking rests on. */
export interface CauseEvidence {
  readonly parts: readonly CausePart[];
  /** Sites that are watched. */
  readonly sites: number;
  /** Orders of stuck purchases, as far as references show them, and those of them that have a purchase registered later. */
  readonly orders: number;
  readonly begunAgain: number;
  /** How purchases that had been stuck left since the alarm. */
  readonly leftSince: { readonly well: number; readonly timedOut: number; readonly other: number };
  /** How long the latest of those that timed out had been in the state. */
  readonly timedOutAfter: readonly Milliseconds[];
  /** How long a session at the service lives. */
  readonly sessionLength: Milliseconds;
}

/** How purchases left that had been stuck, of all parts together. */
export function exitsTogether(exits: readonly Exits[]): Pick<CauseEvidence, 'leftSince' | 'timedOutAfter'> {
  const sum = (of: 'well' | 'timedOut' | 'other'): number => exits.reduce((total, each) => total + each[of], 0);
  return {
    leftSince: { well: sum('well'), timedOut: sum('timedOut'), other: sum('other') },
    timedOutAfter: exits.flatMap(({ timedOutAfter }) => timedOutAfter),
  };
}

/** A cause with what speaks for it, in one sentence. */
export interface RankedCause {
  readonly cause: CauseKey;
  readonly why: string;
  /** Several customers speak for it, or others who got on; otherwise it is merely possible. */
  readonly likely: boolean;
}

const CARD = numberOf('WaitingForCardPayments');
const IDENTITY = numberOf('WaitingForIdentityProvider');

/** So many customers at least make a pattern. */
const FEW = 3;
/** None of so many customers got on or tried again: a page that lets no customer go. */
const MANY = 5;
/** A share of orders begun again that chance and patience do not explain. */
const BEGUN_AGAIN = 0.5;
/** A share of time-outs at the session's end that is nearly all. */
const NEARLY_ALL = 0.8;
/** Some of the session has passed before the customer is sent away, and a poll sees its end later: this share of it. */
const ABOUT_SESSION_END = 0.2;
/** More than these are not shown: a list of guesses helps no reader. */
const TOLD = 2;

/** A rule: the sentence that speaks for its cause, and how many customers do; null when nothing speaks for it. */
type Rule = readonly [CauseKey, (evidence: CauseEvidence) => Speaking | null];
type Speaking = readonly [why: string, customers: number];

/**
 * Rules that point to one cause only come first. Then come the reasons that the specification names for a state, and last the
 * special cases of such a reason: the more frequent a case is, the sooner it is named.
 */
const RULES: readonly Rule[] = [
  ['provider', severalSites],
  ['new_checkout', begunAgain],
  ['deploy', (evidence) => (hasBothStates(evidence) ? suddenly(evidence) : null)],
  ['late_return', atSessionEnd],
  ['deploy', suddenly],
  ['rerender', (evidence) => waitingIn(evidence, CARD)],
  ['redirect', (evidence) => waitingIn(evidence, IDENTITY)],
  ['framed', nobodyLeaves],
  ['return_request', cardOnly],
];

/** The causes that the data speaks for, the most likely first, two at most. None for states without a documented cause. */
export function rankCauses(all: CauseEvidence): readonly RankedCause[] {
  const evidence: CauseEvidence = { ...all, parts: all.parts.filter(({ count }) => count > 0) };
  const found = new Map<CauseKey, RankedCause>();
  for (const [cause, rule] of RULES) {
    const speaking = found.has(cause) ? null : rule(evidence);
    if (speaking === null) continue;
    const [why, speakers] = speaking;
    found.set(cause, { cause, why, likely: speakers >= FEW });
  }
  const causes = [...found.values()];
  return [...causes.filter(({ likely }) => likely), ...causes.filter(({ likely }) => !likely)].slice(0, TOLD);
}

const sitesOf = ({ parts }: CauseEvidence): Set<string> => new Set(parts.map(({ site }) => site));
const totalOf = (parts: readonly CausePart[]): number => parts.reduce((sum, { count }) => sum + count, 0);
const customers = (count: number): string => (count === 1 ? '1 customer' : `${count} customers`);

function severalSites(evidence: CauseEvidence): Speaking | null {
  const affected = sitesOf(evidence).size;
  if (affected < 2) return null;
  const watched = Math.max(evidence.sites, affected);
  const count = totalOf(evidence.parts);
  return [`${customers(count)} at ${affected} of ${watched} sites are stuck at the same time.`, count];
}

function begunAgain({ orders, begunAgain: again }: CauseEvidence): Speaking | null {
  if (again < FEW || again < orders * BEGUN_AGAIN) return null;
  return [`${again} of ${orders} orders were begun again by the same customer.`, again];
}

function hasBothStates({ parts }: CauseEvidence): boolean {
  const at = (wanted: number): Set<string> => new Set(parts.filter(({ state }) => state === wanted).map(({ site }) => site));
  return !at(CARD).isDisjointFrom(at(IDENTITY));
}

const isSudden = ({ lastWellAt, wellBefore, stuckSinceThen }: CausePart): boolean =>
  lastWellAt !== null && wellBefore >= FEW && stuckSinceThen >= FEW;

/** Several customers got on within an hour, and then none. */
function suddenly({ parts }: CauseEvidence): Speaking | null {
  const worst = parts.filter(isSudden).sort((a, b) => b.stuckSinceThen - a.stuckSinceThen)[0];
  if (worst === undefined) return null;
  const { site, wellBefore, lastWellAt, stuckSinceThen } = worst;
  const until = `${new Date(lastWellAt ?? 0).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const why = `At ${site} ${customers(wellBefore)} got on in the hour until ${until}, and ${stuckSinceThen} who came later are stuck.`;
  return [why, stuckSinceThen];
}

/** Whether customers get on who came after most of those that are stuck: then the page works for some. */
const worksForSome = ({ lastWellAt, stuckSinceThen, count }: CausePart): boolean =>
  lastWellAt !== null && stuckSinceThen * 2 <= count;

function atSessionEnd({ parts, timedOutAfter, sessionLength }: CauseEvidence): Speaking | null {
  const atEnd = timedOutAfter.filter((dwell) => Math.abs(dwell - sessionLength) <= sessionLength * ABOUT_SESSION_END).length;
  if (atEnd < FEW || atEnd < timedOutAfter.length * NEARLY_ALL || !parts.every(worksForSome)) return null;
  const minutes = Math.round(sessionLength / 60_000);
  const why = `${atEnd} of the last ${timedOutAfter.length} that timed out did so just as the session of ${minutes} min ended, while others get on.`;
  return [why, atEnd];
}

function cardOnly(evidence: CauseEvidence): Speaking | null {
  const { parts } = evidence;
  if (parts.length === 0 || sitesOf(evidence).size > 1 || parts.some(({ state }) => state !== CARD)) return null;
  const count = totalOf(parts);
  const whole = count === 1 ? 'The one stuck customer waits' : `All ${count} stuck customers wait`;
  return [`${whole} for the card provider, none elsewhere.`, count];
}

function nobodyLeaves({ parts, orders, begunAgain: again, leftSince }: CauseEvidence): Speaking | null {
  const stuck = totalOf(parts);
  if (stuck < MANY || orders < MANY || again > 0 || leftSince.well > 0 || parts.some(worksForSome)) return null;
  return [`None of ${customers(stuck)} got on, and none of ${orders} orders was begun again.`, stuck];
}

/** The specification's own reason for a state, at one site. */
function waitingIn(evidence: CauseEvidence, wanted: number): Speaking | null {
  const count = totalOf(evidence.parts.filter(({ state }) => state === wanted));
  if (count === 0 || sitesOf(evidence).size > 1) return null;
  const are = count === 1 ? 'is' : 'are';
  return [`${customers(count)} ${are} stuck ${statePlace(wanted)}, for which the specification names this reason.`, count];
}

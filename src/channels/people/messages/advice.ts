/** Why purchases may be stuck in a state, and what to look at first. */
import type { NamedState } from '../../../domain/purchases/states.ts';
import { plain } from './mrkdwn.ts';

interface Known {
  /** Completes "37 purchases stuck …". */
  readonly place: string;
  readonly cause: string;
  readonly remedy: string;
}

const RECENT = 'Start with what was deployed last on the checkout page';

/** The states in which somebody waits. The causes of 4 and 6 are the specification's; the others it does not explain. */
const KNOWN: Readonly<Record<number, Known>> = {
  0: {
    place: 'before the form is shown',
    cause: 'A session was negotiated, and the check-out form has not yet been shown in a browser.',
    remedy: `${RECENT}: open it and see whether the form appears.`,
  },
  1: {
    place: 'in the check-out form',
    cause: 'The customers are going through the check-out wizard and do not get to its end.',
    remedy: `${RECENT}: go through the form yourself and watch the browser's console.`,
  },
  4: {
    place: 'waiting for the identity provider',
    cause:
      "The customers were redirected to an external identity provider and have not been redirected back: the merchant's hosting page may not handle redirects correctly.",
    remedy:
      'Identify yourself in a test purchase and come back: the page must show the same purchase again. If it does not, look at what was deployed last, at the content security policy (frames, form targets) and at frames that may not navigate the top page. If several sites have this at once, ask the provider.',
  },
  6: {
    place: 'waiting for the card payment provider',
    cause:
      'The customers were redirected to a card payment provider and have not been redirected back: the hosting page may not be able to render itself repeatedly.',
    remedy:
      'Pay a test purchase by card: the page you return to must render the same purchase again instead of starting a new one. Banks return with a cross-site POST, which carries no SameSite=Lax cookie, so take the purchase id from the address, not from the session.',
  },
  7: {
    place: 'waiting for the electronic-ID app',
    cause: 'No response comes from the electronic-ID application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  },
  9: {
    place: 'waiting for a Finnish bank',
    cause: 'The customers were redirected to a Finnish bank for a direct payment and have not come back.',
    remedy: 'Pay a test purchase this way: the page must show the same purchase again when the bank returns you to it.',
  },
  10: {
    place: 'waiting for credit approval',
    cause: 'The merchant has neither approved nor refused the credit.',
    remedy: 'Decide on these credits, or find out why decisions do not reach the service.',
  },
  12: {
    place: 'waiting for the mobile payment app',
    cause: 'No response comes from the mobile payment application.',
    remedy: "Try a test purchase with the app, and look at the provider's status page.",
  },
  14: {
    place: 'waiting for strong authentication',
    cause: 'The end users have not finished the strong authentication that was asked of them.',
    remedy: 'Try a test purchase that needs it, and see where it stops.',
  },
};

/** Where the customers are, in words that follow "stuck". */
export function waitingFor(state: NamedState): string {
  return KNOWN[state.value]?.place ?? `in ${plain(state.name, 34)}`;
}

/** The likely cause and what to do, as markup. */
export function advice(state: NamedState): { readonly cause: string; readonly remedy: string } {
  return (
    KNOWN[state.value] ?? {
      cause: 'The specification names no cause for this state.',
      remedy: `${RECENT}, then ask whoever the customers wait for in this state.`,
    }
  );
}

import type { ScriptStep } from '../../../packages/simulator/src/contract/purchases.ts';

/** What can happen in a world, as JSON: a plan is a list of acts. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const LIVES = [
  'card-paid',
  'invoice-eid-app',
  'invoice-identity-provider',
  'mobile-payment',
  'finnish-direct-payment',
  'credit-not-approved',
  'cancelled-after-completion',
  'user-cancels',
  'abandoned-in-form',
  'stuck-at-card-payments',
  'stuck-at-identity-provider',
  'paid-at-second-poll',
] as const;
export type Life = (typeof LIVES)[number];

/** Answers of the service that are no answer to the question. */
export const ODD_ANSWERS = [
  '401',
  '404',
  '429-seconds',
  '500',
  '503',
  'html',
  'empty',
  'null',
  'hang',
  'reset',
  'cut',
  'slow-body',
  'trailing-bytes',
  'invalid-json',
  'null-state',
  'string-state',
  'other-purchase',
] as const;

/** `forgets`: the receiver takes the event, and its answer is lost. `cuts`: a good answer breaks off, and the event is not taken. */
export const MOODS = ['fails', 'hangs', 'closes', 'lies', 'slow', 'forgets', 'cuts'] as const;
export type ReceiverMood = (typeof MOODS)[number];

/** SQLSTATEs that answer a statement: serialization, deadlock, lock not available, cancelled, out of memory, too many connections. */
export const STATEMENT_ERRORS = ['40001', '40P01', '55P03', '57014', '53200', '53300'] as const;
/** SQLSTATEs that answer a new connection: too many of them, the server starts up. */
export const CONNECTION_ERRORS = ['53300', '57P03'] as const;

/** A poll is due now; the row says another state; the row is gone. */
export const ROW_CHANGES = ['due', 'state', 'gone'] as const;

/** How the settings of a daemon differ from the usual ones; what is absent does not. */
export interface Variation {
  readonly giveUpAfter?: string;
  readonly schedule?: readonly string[];
  /** Whether an event is given up at the end of that schedule. */
  readonly isBrief?: boolean;
  /** Requests under way at most, at the service and at each receiver. */
  readonly concurrency?: number;
  /** Calls of the service a second. */
  readonly maxRps?: number;
  /** The longest wait between two polls of a customer in the form. */
  readonly most?: string;
  /** Whether receivers' secrets are being replaced: a new one signs beside the old one. */
  readonly isRotating?: boolean;
  /** Whether it names a second site. */
  readonly hasSecondSite?: boolean;
}

/** One thing that happens, at so many milliseconds after the start. */
export type Act = { readonly at: number } & (
  | {
      readonly does: 'registers';
      /** `view`: as a login that may register only, and gets the row back. */
      readonly by: 'sql' | 'api' | 'view';
      /** A name, or the states of a life. */
      readonly life: Life | readonly ScriptStep[];
      readonly count: number;
      readonly site?: 'second';
    }
  | { readonly does: 'kills' | 'starts' | 'stops'; readonly daemon: number }
  | { readonly does: 'freezes' | 'cuts off'; readonly daemon: number; readonly lasts: number }
  /** At a restart, or while the daemon goes on. */
  | { readonly does: 'changes settings' | 'reloads settings'; readonly daemon: number; readonly to: Variation }
  /** The database is of an older version, whose daemons do nothing for so long, when a new daemon starts. */
  | { readonly does: 'upgrades'; readonly daemon: number; readonly from: number; readonly lasts: number }
  /** No daemon runs for so long. */
  | { readonly does: 'stops all'; readonly lasts: number }
  | { readonly does: 'restarts the database' | 'copies the database' }
  /** The database is again as it was at the last copy, or has its tables and no rows. */
  | { readonly does: 'goes back'; readonly to: 'copy' | 'nothing' }
  | { readonly does: 'loses statements'; readonly share: number; readonly lasts: number }
  | {
      readonly does: 'fails statements';
      readonly code: (typeof STATEMENT_ERRORS)[number];
      readonly share: number;
      readonly lasts: number;
    }
  | { readonly does: 'refuses connections'; readonly code: (typeof CONNECTION_ERRORS)[number]; readonly lasts: number }
  /** `holds`: a session keeps a transaction open. */
  | { readonly does: 'refuses writes' | 'holds the database' | 'loses notifications'; readonly lasts: number }
  /** By so many milliseconds, forward or back, until another step or until everything is mended. */
  | { readonly does: 'steps a clock'; readonly of: 'database' | number; readonly by: number }
  | {
      readonly does: 'spoils answers';
      /** `late`: good ones, after two seconds. */
      readonly kind: (typeof ODD_ANSWERS)[number] | 'late';
      readonly share: number;
      readonly lasts: number;
    }
  | {
      readonly does: 'spoils a receiver';
      readonly receiver: number;
      readonly mood: ReceiverMood;
      readonly share: number;
      readonly lasts: number;
    }
  /** Answers of the API get lost, or a call arrives twice. */
  | { readonly does: 'loses calls' | 'doubles calls'; readonly share: number; readonly lasts: number }
  | { readonly does: 'slows the network'; readonly ms: number; readonly lasts: number }
  | { readonly does: 'asks for polls' | 'registers again' | 'silences' | 'acknowledges' | 'resumes' }
  /** Of which purchase, counted from the first that was made. */
  | { readonly does: 'stops watching' | 'erases'; readonly purchase: number }
  /** The owner of the tables changes the row of a purchase, which is no interface. */
  | { readonly does: 'writes a row'; readonly purchase: number; readonly how: (typeof ROW_CHANGES)[number] }
  /** A login that may register only tries more; an order that registers a purchase is undone. */
  | { readonly does: 'oversteps' | 'undoes an order' }
  /** Polls, stops and takes up the same purchase again and again. */
  | { readonly does: 'wavers'; readonly purchase: number; readonly lasts: number }
  | { readonly does: 'replays' | 'tests' | 'retries deliveries'; readonly receiver: number }
);

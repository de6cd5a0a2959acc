/** The facts that explain a purchase: rows as they were at one moment, without a person's data. */

import type { StateTransition } from '../deciding/outcome.ts';
import type { StoredStatus } from '../deliveries/delivery-status.ts';
import type { Audience } from '../deliveries/subscriber-health.ts';
import type { SubscriberState } from '../deliveries/subscriber-state.ts';
import type { OrderCounts } from '../incidents/paid-twice.ts';
import type { IncidentKind } from '../incidents/symptom.ts';
import type { PollReason } from '../polling/poll-reason.ts';
import type { Purchase } from '../purchases/purchase.ts';
import type { DaemonSilence } from '../replicas/daemon-silence.ts';
import type { NamingReplica } from '../replicas/named.ts';
import type { CountedUsual } from '../stays/usual.ts';
import type { SkippedTime } from '../values/clock-steps.ts';
import type { Instant } from '../values/time.ts';

export interface PurchaseFacts extends Omit<Purchase, 'revision' | 'detailsDigest' | 'atRiskSince' | 'hasMetadata'> {
  readonly registeredAt: Instant;
  /** `api`, `cli`, `sql:<role>`, or null: registered before this was noted. */
  readonly registeredBy: string | null;
  /** When watching ended. */
  readonly endedAt: Instant | null;
  readonly lastPolledAt: Instant | null;
  readonly nextPollAt: Instant | null;
  /** Null without a next poll, and when it was planned before reasons were recorded. */
  readonly nextPollReason: PollReason | null;
  readonly lastError: string | null;
  /** The process of the database's session that has locked the row, if one has. */
  readonly lockedBy?: number | null;
}

export interface PurchaseEventFacts {
  readonly position: number;
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly state: number | null;
  readonly at: Instant;
}

export interface SubscriberFacts extends SubscriberState {
  readonly id: number;
  readonly name: string;
  readonly kind: string;
  readonly audience: Audience;
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  /** Events from here on are matched against the filters it has now. */
  readonly matchingSince: Instant;
}

export interface DeliveryFacts {
  readonly id: number;
  /** The event's position. */
  readonly event: number;
  readonly subscriber: number;
  /** The stored status; the shown one follows from the subscriber too. */
  readonly status: StoredStatus;
  /** Since when an attempt has been under way. */
  readonly inFlightSince: Instant | null;
  /** Whether a replay asked for it last: it goes after all that is new. */
  readonly replayed: boolean;
  readonly attempts: number;
  /** Of these, those that its schedule does not count: made before it was last asked to be sent again, and failures of ours. */
  readonly attemptsBefore: number;
  readonly dueAt: Instant;
  readonly settledAt: Instant | null;
  readonly lastError: string | null;
  /** While pending: the event of this purchase that the subscriber must get first, by position. */
  readonly behind: number | null;
}

export interface AttemptFacts {
  readonly delivery: number;
  readonly number: number;
  readonly at: Instant;
  readonly tookMs: number;
  readonly outcome: string;
  /** Whose fault a failure was, where it was noted. */
  readonly fault: 'receiver' | 'ours' | null;
  readonly httpStatus: number | null;
}

export interface IncidentFacts {
  readonly id: string;
  readonly kind: IncidentKind;
  readonly state: number | null;
  readonly since: Instant;
  readonly openedAt: Instant;
  /** When people were last to be alerted; null while they never were. */
  readonly alertedAt: Instant | null;
  /** Whether any channel was alerted of it. */
  readonly hasChannel: boolean;
  readonly count: number;
  readonly acknowledgedAt: Instant | null;
  readonly acknowledgedBy: string | null;
  /** Until when a silence keeps people from being alerted of it. */
  readonly silencedUntil: Instant | null;
}

/** Alerts about this purchase by itself, of one stay in a state. */
export interface SingleFacts {
  readonly state: number;
  /** When the stay began. */
  readonly since: Instant;
  /** When people were alerted that it is stuck, and that it is over; null while they were not. */
  readonly alertedAt: Instant | null;
  readonly endedAt: Instant | null;
  /** Names of the channels that were alerted. */
  readonly channels: readonly string[];
  readonly mode: 'auto' | 'each' | null;
  readonly counted: number | null;
  readonly perDay: number | null;
  /** From then on incidents alert instead. */
  readonly isLast: boolean;
  /** Why the purchase could not be read, in a word; null: it was stuck. */
  readonly unreadable: string | null;
  /** The first poll of the purchase found it in the state, and it came with the first load of its site. */
  readonly foundLate: boolean;
}

/** A completed purchase of an order. */
export interface PaymentFacts {
  readonly purchaseId: string;
  /** The amount's exact digits. */
  readonly price: string | null;
  readonly currency: string | null;
  readonly completedAt: Instant;
}

export interface Facts {
  readonly now: Instant;
  /** Time that the database's clock skipped. */
  readonly skipped: SkippedTime;
  readonly purchase: PurchaseFacts;
  readonly site: {
    readonly configured: boolean;
    /** The site of which this is a former name. */
    readonly renamedTo?: string | null;
    readonly failingSince: Instant | null;
    readonly lastSuccessAt: Instant | null;
    readonly lastError: string | null;
  };
  readonly owner: {
    /** The replica that the purchase's shard is written to, or null. */
    readonly replica: string | null;
    /** Until when its lease lasts; null when that replica is gone. */
    readonly leaseUntil: Instant | null;
    /** Replicas whose lease lasts. */
    readonly replicas: number;
    /** Sites and subscribers in the settings of the replicas that take shards; null without such a replica. */
    readonly sharing?: readonly NamingReplica[] | null;
    readonly silence: DaemonSilence;
    /** Other purchases of the same site and shard that are due; counted up to a bound. */
    readonly othersDue: number;
  };
  /**
   * Until the first poll of a purchase of a bulk registration: about how many such polls come before it, and the calls a second that
   * daemons may make to its site, where that is known.
   */
  readonly firstPoll: { readonly ahead: number; readonly ceiling: number | null } | null;
  /** Oldest first; the latest ones when there are very many. */
  readonly transitions: readonly StateTransition[];
  readonly events: readonly PurchaseEventFacts[];
  /** All that matter here, or the one that was asked about. */
  readonly subscribers: readonly SubscriberFacts[];
  /** The name of the one that was asked about. */
  readonly only: string | null;
  readonly deliveries: readonly DeliveryFacts[];
  readonly attempts: readonly AttemptFacts[];
  /** Open ones that it belongs to. */
  readonly incidents: readonly IncidentFacts[];
  /** The oldest first. */
  readonly singles: readonly SingleFacts[];
  /** Of a stuck purchase of its site's first load: the first look at the site. Null for others, and for those that got stuck after it. */
  readonly firstLook: {
    /** When the first purchase of the first load got stuck. */
    readonly foundAt: Instant;
    /** When people were alerted; null before. */
    readonly alertedAt: Instant | null;
    /** Whether so many purchases of the first load are stuck that no purchase alerts people by itself. */
    readonly isBacklog: boolean;
  } | null;
  readonly order: {
    /** The completed purchases of its order, itself included; empty while it is not completed, and when its order is not known. */
    readonly payments: readonly PaymentFacts[];
    /** When an event named it as one of several payments. */
    readonly announcedAt: Instant | null;
    /** How often orders repeat at its site. */
    readonly counts: OrderCounts;
  };
  /** The usual numbers of the purchase's state at its site. */
  readonly known: CountedUsual;
  /** Whether there is a channel for people, without which no person is alerted of incidents. */
  readonly hasPeople: boolean;
  /** How many rows there are beyond the bounds. */
  readonly more: Readonly<Record<'transitions' | 'events' | 'subscribers' | 'deliveries' | 'attempts', number>>;
}

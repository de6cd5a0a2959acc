/** What holds while nothing disturbs daemons, database and network: each event is sent once, one after the other, and at once. */
import type { Excuse } from './model.ts';

/** An event is with its receiver within this after it was made, in calm. */
const TOLD_WITHIN = 3_000;
/** A purchase is polled, and its state with receivers, within this after it was registered, in calm. */
const KNOWN_WITHIN = 4_000;
/** A request says when it left, also one that is made again after hours. */
const TIMELY = 15_000;

/** A request as it arrives. Times are epoch milliseconds. */
export interface Arrival {
  readonly receiver: string;
  readonly id: string;
  /** The purchase, or the lane of events of none. */
  readonly lane: string;
  readonly at: number;
  /** When the event was made. */
  readonly madeAt: number;
  /** When the request says that it was sent. */
  readonly sentAt: number;
}

/** Whether nothing disturbed the world at any time between two moments, and no call was spoiled if `also` says so. */
export function isCalm(excuses: readonly Excuse[], from: number, to: number, also?: 'spoiled'): boolean {
  const [first, last] = [Math.min(from, to), Math.max(from, to)];
  return !excuses.some((each) => (each.kind === 'disturbed' || each.kind === also) && each.from <= last && each.to >= first);
}

/** Daemons that die, stop, stand still or take over do nothing that another one does at that moment, however slow or deaf others are. */
const ORDERLY = new Set([
  ...['kills', 'starts', 'stops', 'freezes'],
  ...['spoils answers', 'slows a receiver', 'slows the network', 'loses statements'],
]);
export const mayOverlap = (each: Excuse): boolean => each.kind !== 'disturbed' || !ORDERLY.has(each.by);
/** Receivers that fail, much work and other settings disturb no daemon. */
const LOAD = new Set(['spoils a receiver', 'slows a receiver', 'registers', 'changes settings']);
export const isOfDaemons = (each: Excuse): boolean => each.kind !== 'disturbed' || !LOAD.has(each.by);

/** Results of attempts that the database refuses at first are written later. */
const isNoRefusal = (each: Excuse): boolean => each.kind !== 'disturbed' || each.by !== 'fails statements';

export class Calm {
  readonly problems: string[] = [];
  readonly #excuses: readonly Excuse[];
  /** Requests on their way, by receiver and lane. */
  readonly #open = new Map<string, number>();
  /** When purchases were registered of which no receiver has heard yet. */
  readonly #registered = new Map<string, number>();
  /** When a receiver said that it has an event. */
  readonly #taken = new Map<string, number>();

  /** When purchases were erased. */
  readonly #erased = new Map<string, number>();

  constructor(excuses: readonly Excuse[]) {
    this.#excuses = excuses;
  }

  /** A purchase was registered. */
  registered(purchaseId: string, at: number): void {
    this.#registered.set(purchaseId, at);
  }

  /** A person's data was erased, as the product said. */
  erased(purchaseId: string, at: number): void {
    this.#erased.set(purchaseId, at);
  }

  /** A request arrived. */
  arrived({ receiver, id, lane, at, madeAt, sentAt }: Arrival): void {
    const wrong = (fault: string): void => void this.problems.push(`${receiver}: ${id} ${fault}`);
    const key = `${receiver} ${lane}`;
    const open = this.#open.get(key) ?? 0;
    this.#open.set(key, open + 1);
    if (open > 0 && isCalm(this.#excuses.filter(mayOverlap), madeAt, at))
      wrong(`came while another request about ${lane} was on its way`);
    const registeredAt = this.#registered.get(lane);
    this.#registered.delete(lane);
    if (registeredAt !== undefined && at - registeredAt > KNOWN_WITHIN && isCalm(this.#excuses, registeredAt, at, 'spoiled'))
      wrong(`came ${at - registeredAt} ms after ${lane} was registered`);
    const erasedAt = this.#erased.get(lane) ?? at;
    if (at - erasedAt > TOLD_WITHIN && isCalm(this.#excuses.filter(isOfDaemons), erasedAt, at))
      wrong(`came ${at - erasedAt} ms after ${lane} was erased`);
    const taken = this.#taken.get(`${receiver} ${id}`);
    if (taken === undefined) {
      if (at - madeAt > TOLD_WITHIN && isCalm(this.#excuses, madeAt, at)) wrong(`came ${at - madeAt} ms after it was made`);
    } else if (isCalm(this.#excuses.filter(isNoRefusal), taken, at)) wrong(`came again, ${at - taken} ms after it was taken`);
    if (Math.abs(sentAt - at) > TIMELY && isCalm(this.#excuses.filter(isOfDaemons), at - TIMELY, at))
      wrong(`says that it was sent ${at - sentAt} ms ago`);
  }

  /** A request was answered or given up; `well`: the receiver said that it has the event. */
  left({ receiver, id, lane }: Arrival, at: number, well: boolean): void {
    const key = `${receiver} ${lane}`;
    this.#open.set(key, this.#open.get(key)! - 1);
    if (well) this.#taken.set(`${receiver} ${id}`, at);
  }
}

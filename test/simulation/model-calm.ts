/** What holds while nothing disturbs daemons, database and network: each event is sent once, one after the other, and at once. */
import type { Excuse } from './model.ts';

/** An event is with its receiver within this after it was made, in calm. */
const TOLD_WITHIN = 3_000;
/** A purchase is polled, and its state with receivers, within this after it was registered, in calm. */
const KNOWN_WITHIN = 4_000;
/** The same where notifications of the database get lost. */
const SWEPT_WITHIN = 45_000;
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

/** Daemons that die, stop, stand still or take over do nothing that another one does at that moment, however slow or deaf others are. */
export const ORDERLY = [
  ...['kills', 'starts', 'stops', 'freezes'],
  ...['spoils answers', 'slows a receiver', 'slows the network', 'loses statements'],
];
/** Receivers that fail, much work, other settings and an erased purchase disturb no daemon. */
export const LOAD = ['spoils a receiver', 'slows a receiver', 'registers', 'changes settings', 'erases'];

interface Despite {
  /** Calls of the service may have been spoiled. */
  readonly spoiled?: boolean;
  /** Acts that make no difference. */
  readonly acts?: readonly string[];
}

/** Whether nothing disturbed the world at any time between two moments. */
export function isCalm(
  excuses: readonly Excuse[],
  from: number,
  to: number,
  { spoiled = true, acts = [] }: Despite = {},
): boolean {
  const [first, last] = [Math.min(from, to), Math.max(from, to)];
  const counts = (each: Excuse): boolean =>
    each.kind === 'disturbed' ? !acts.includes(each.by) : each.kind === 'spoiled' && !spoiled;
  return !excuses.some((each) => counts(each) && 'to' in each && 'from' in each && each.from <= last && each.to >= first);
}

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
    if (open > 0 && isCalm(this.#excuses, madeAt, at, { acts: ORDERLY }))
      wrong(`came while another request about ${lane} was on its way`);
    const registeredAt = this.#registered.get(lane);
    this.#registered.delete(lane);
    const isLate = (within: number, acts: readonly string[]): boolean =>
      registeredAt !== undefined &&
      at - registeredAt > within &&
      isCalm(this.#excuses, registeredAt, at, { spoiled: false, acts });
    if (isLate(KNOWN_WITHIN, []) || isLate(SWEPT_WITHIN, ['loses notifications']))
      wrong(`came ${at - registeredAt!} ms after ${lane} was registered`);
    const erasedAt = this.#erased.get(lane) ?? at;
    if (at - erasedAt > TOLD_WITHIN && isCalm(this.#excuses, erasedAt, at, { acts: LOAD }))
      wrong(`came ${at - erasedAt} ms after ${lane} was erased`);
    const taken = this.#taken.get(`${receiver} ${id}`);
    if (taken === undefined) {
      if (at - madeAt > TOLD_WITHIN && isCalm(this.#excuses, madeAt, at)) wrong(`came ${at - madeAt} ms after it was made`);
    } else if (isCalm(this.#excuses, taken, at, { acts: ['fails statements'] }))
      wrong(`came again, ${at - taken} ms after it was taken`);
    if (Math.abs(sentAt - at) > TIMELY && isCalm(this.#excuses, at - TIMELY, at, { acts: LOAD }))
      wrong(`says that it was sent ${at - sentAt} ms ago`);
  }

  /** A request was answered or given up; `well`: the receiver said that it has the event. */
  left({ receiver, id, lane }: Arrival, at: number, well: boolean): void {
    const key = `${receiver} ${lane}`;
    this.#open.set(key, this.#open.get(key)! - 1);
    if (well) this.#taken.set(`${receiver} ${id}`, at);
  }
}

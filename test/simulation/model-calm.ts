/** What holds while nothing disturbs daemons, database and network: each event is sent once, one after the other, and at once. */
import type { Excuse } from './model.ts';

/** An event is with its receiver within this after it was made, in calm. */
const TOLD_WITHIN = 3_000;
/** Receivers refuse requests whose time is further off. */
const TIMELY = 5 * 60_000;

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

/** Whether nothing that `excuses` names was going on at any time between two moments. */
export function isCalm(excuses: readonly Excuse[], from: number, to: number): boolean {
  return !excuses.some((each) => each.kind === 'disturbed' && each.from <= to && each.to >= from);
}

export class Calm {
  readonly problems: string[] = [];
  readonly #excuses: readonly Excuse[];
  /** Requests on their way, by receiver and lane. */
  readonly #open = new Map<string, number>();
  /** When a receiver said that it has an event. */
  readonly #taken = new Map<string, number>();

  constructor(excuses: readonly Excuse[]) {
    this.#excuses = excuses;
  }

  /** A request arrived; `since` is when the first of its lane that is still on its way did. */
  arrived({ receiver, id, lane, at, madeAt, sentAt }: Arrival): void {
    const wrong = (fault: string): void => void this.problems.push(`${receiver}: ${id} ${fault}`);
    const key = `${receiver} ${lane}`;
    const open = this.#open.get(key) ?? 0;
    this.#open.set(key, open + 1);
    if (open > 0 && isCalm(this.#excuses, madeAt, at)) wrong(`came while another request about ${lane} was on its way`);
    const taken = this.#taken.get(`${receiver} ${id}`);
    if (taken === undefined) {
      if (at - madeAt > TOLD_WITHIN && isCalm(this.#excuses, madeAt, at)) wrong(`came ${at - madeAt} ms after it was made`);
    } else if (isCalm(this.#excuses, taken, at)) wrong(`came again, ${at - taken} ms after it was taken`);
    if (Math.abs(sentAt - at) > TIMELY && isCalm(this.#excuses, at, at)) wrong(`says that it was sent ${at - sentAt} ms ago`);
  }

  /** A request was answered or given up; `well`: the receiver said that it has the event. */
  left({ receiver, id, lane }: Arrival, at: number, well: boolean): void {
    const key = `${receiver} ${lane}`;
    this.#open.set(key, this.#open.get(key)! - 1);
    if (well) this.#taken.set(`${receiver} ${id}`, at);
  }
}

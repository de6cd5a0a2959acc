/**
 * What is right, written from the contract and sharing no code with the product: what receivers may be sent of each purchase, at
 * any moment. What must have been sent at rest is in `model-rest.ts`. Times are epoch milliseconds.
 */
import { isCalm } from './model-calm.ts';

export interface Truth {
  readonly purchaseId: string;
  /** Each state with the moment at which it began, oldest first. */
  readonly history: readonly { readonly state: number; readonly at: number }[];
}

/** One request that a receiver got. */
export interface Got {
  readonly at: number;
  readonly id: string;
  readonly body: string;
  /** Whether the receiver has the event now; it may have said otherwise. */
  readonly accepted: boolean;
  readonly signed: boolean;
}

/** What happened in a world that excuses what is wrong otherwise. Times are those of the world, from the moment when it happened. */
export type Excuse =
  /** Nobody could ask the service about any purchase. */
  | { readonly kind: 'blind'; readonly from: number; readonly to: number }
  /** The database lost what it had committed after `to`. */
  | { readonly kind: 'went back'; readonly at: number; readonly to: number }
  /** Somebody wanted alerts withheld for a while. */
  | { readonly kind: 'silenced'; readonly at: number }
  /** Somebody wanted a purchase watched no more. */
  | { readonly kind: 'stopped'; readonly at: number; readonly purchaseId: string }
  /** Somebody asked to erase a person's data: the events of the purchase have other bytes, or are gone. */
  | { readonly kind: 'erased'; readonly at: number; readonly purchaseId: string }
  /** Somebody changed the row of a purchase past every interface. */
  | { readonly kind: 'written'; readonly at: number; readonly purchaseId: string }
  /** Daemons, database, network or receivers were not as they should be, or not for long enough. */
  | { readonly kind: 'disturbed'; readonly from: number; readonly to: number; readonly by: string }
  /** Calls of the service failed, by share; `isOwn`: so that a purchase may have been at fault. */
  | { readonly kind: 'spoiled'; readonly from: number; readonly to: number; readonly isOwn: boolean };

/** What a model knows of its world. */
export interface Facts {
  /** The time in a state after which a purchase is stuck. */
  readonly limits: ReadonlyMap<number, number>;
  /** By how much a moment that the product writes may be off: what messages need through the network; infinite where a clock steps, as the product moves times then. */
  readonly blur: number;
  readonly excuses: readonly Excuse[];
  /** Whether the database is taken back to a schema that does not know which stays were announced as at risk. */
  readonly losesRisks: boolean;
  readonly truth: (purchaseId: string) => Truth | null;
}

/** A limit is confirmed by a poll, and a poll may be so late without being excused: "at the next poll of the plan", which is below this. */
const LATE_POLL = 15_000;
/** States in which a purchase is watched no more. */
export const FINAL = new Set([2, 3, 5, 8, 11, 13]);

/** A call to the service is given up after this. */
const CALL_TAKES = 10_000;

/** Where one receiver is with one purchase. */
export interface Heard {
  sequence: number;
  state: number | null;
  /** When the present state was first seen. */
  since: string | null;
  stuckSince: string | null;
  /** Whether the present stay was announced as at risk. */
  isAtRisk: boolean;
  /** The next event has to be `purchase.recovered`, with these times. */
  owed: { readonly stateSince: string | null; readonly stuckSince: string } | null;
  isReadable: boolean;
  /** Which part of the truth the state is. */
  place: number;
}

interface Event {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly purchaseId?: string; readonly sequence?: number };
}

const number = (state: unknown): number | null => (state as { value: number } | null)?.value ?? null;

/** Takes every request of every receiver as it arrives, and notes what may never happen. */
export class Model {
  readonly problems: string[] = [];
  /** What each receiver was sent and took, in the order in which the receiver took it first. */
  readonly taken = new Map<string, Map<string, string>>();
  /** What receivers know of purchases, by their names. */
  readonly heard = new Map<string, Map<string, Heard>>();
  /** Stays that any receiver was told of as stuck: purchase and since when. */
  readonly stuck = new Set<string>();
  /** Bytes of each event, whoever got them first. */
  readonly #bodies = new Map<string, string>();
  /** The event of each place in a purchase's history, whoever got it first. */
  readonly #places = new Map<string, string>();
  readonly #facts: Facts;

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Takes one request. */
  got(receiver: string, { id, body, accepted, signed }: Got): void {
    const wrong = (fault: string): void => void this.problems.push(`${receiver}: ${id} ${fault}`);
    if (!signed) wrong('has a bad signature');
    const event = JSON.parse(body) as Event;
    const { purchaseId, sequence } = event.data;
    if (event.id !== id) wrong(`names itself ${event.id}`);
    if ((this.#bodies.get(id) ?? body) !== body && !this.#has('erased', purchaseId)) wrong('came with two bodies');
    this.#bodies.set(id, body);
    if (event.type === 'purchase.stuck') this.stuck.add(stayOf(this.#facts, purchaseId!, `${event.data.stateSince}`));
    const taken = mapIn(this.taken, receiver);
    if (purchaseId !== undefined && sequence !== undefined) {
      const key = `${purchaseId} ${sequence}`;
      if ((this.#places.get(key) ?? id) !== id && !this.#mayBeginAgain(purchaseId))
        wrong(`is number ${sequence} of ${purchaseId}, as ${this.#places.get(key)} was`);
      this.#places.set(key, id);
      const heard = this.heardOf(receiver, purchaseId);
      const next = heard.sequence + 1;
      const isAgain = this.#mayBeginAgain(purchaseId);
      // Also a try that fails comes in its turn: those of a purchase wait for each other.
      if (sequence > next && !isAgain) wrong(`of ${purchaseId} is number ${sequence}, and ${next} was not taken yet`);
      if (accepted && !taken.has(id)) {
        if (sequence < next && !isAgain) wrong(`of ${purchaseId} is number ${sequence} after ${heard.sequence}`);
        const faults = isAgain ? this.#goOn(heard, event, taken) : this.#follow(heard, event);
        for (const fault of faults) wrong(`of ${purchaseId}: ${fault}`);
      }
    }
    if (accepted && !taken.has(id)) taken.set(id, body);
  }

  /** What a receiver knows of a purchase; before the first event, nothing. */
  heardOf(receiver: string, purchaseId: string): Heard {
    const all = mapIn(this.heard, receiver);
    const nothing = {
      sequence: 0,
      state: null,
      since: null,
      stuckSince: null,
      isAtRisk: false,
      owed: null,
      isReadable: true,
      place: -1,
    };
    const heard = all.get(purchaseId) ?? nothing;
    all.set(purchaseId, heard);
    return heard;
  }

  readonly #has = (kind: Excuse['kind'], purchaseId?: string): boolean => has(this.#facts.excuses, kind, purchaseId);
  /** Whether the database may lack events that were sent, so that a number may come again. */
  readonly #mayBeginAgain = (purchaseId: string): boolean => this.#has('erased', purchaseId) || this.#has('went back');

  /** Moves on to an event, and answers what is wrong with it. */
  #follow(heard: Heard, event: Event): string[] {
    const { type, data } = event;
    const faults: string[] = [];
    const { owed } = heard;
    if (owed !== null && type !== 'purchase.recovered' && !this.#has('stopped', data.purchaseId))
      faults.push(`${type} came where its recovery was to be told`);
    heard.owed = null;
    heard.sequence = data.sequence!;
    if (type === 'purchase.state_changed') faults.push(...this.#move(heard, data));
    else if (type === 'purchase.stuck') faults.push(...this.#stick(heard, data));
    else if (type === 'purchase.at_risk') faults.push(...this.#risk(heard, event));
    else if (type === 'purchase.recovered') {
      if (owed === null) faults.push('it recovered and was not stuck');
      else if (Number.isFinite(this.#facts.blur) && (owed.stateSince !== data.stateSince || owed.stuckSince !== data.stuckSince))
        faults.push('it recovered from another stay');
    } else if (type === 'purchase.unreadable' || type === 'purchase.readable') {
      if (heard.isReadable === (type === 'purchase.readable')) faults.push(`${type} came twice`);
      heard.isReadable = !heard.isReadable;
      if (number(data.state) !== heard.state) faults.push(`${type} says ${number(data.state)}, it was in ${heard.state}`);
      if (!this.#facts.excuses.some((each) => each.kind === 'spoiled' && each.isOwn))
        faults.push(`${type} came, and no answer was about a purchase that cannot be read`);
    }
    return faults;
  }

  /** Takes an event of a purchase that may begin again: a change follows any earlier one that ended where it begins. */
  #goOn(heard: Heard, { type, data }: Event, taken: ReadonlyMap<string, string>): string[] {
    const stuckSince = type === 'purchase.stuck' ? data.stuckSince : null;
    Object.assign(heard, { sequence: data.sequence, stuckSince, owed: null });
    if (type !== 'purchase.state_changed') return [];
    const [from, to] = [number(data.from), number(data.to)!];
    Object.assign(heard, { state: to, since: data.notAfter });
    const faults: string[] = [];
    const leads = ({ sequence, to: end }: Event['data']): boolean => sequence! < data.sequence! && number(end) === from;
    if (from !== null && !eventsOf(taken, data.purchaseId!).some((each) => leads(each.data)))
      faults.push(`change ${data.sequence} begins in ${from}, where none before it ended`);
    if (!this.#facts.truth(data.purchaseId!)?.history.some(({ state }) => state === to))
      faults.push(`change ${data.sequence} leads to ${to}, where the purchase never was`);
    return faults;
  }

  #move(heard: Heard, data: Event['data']): string[] {
    const [from, to] = [number(data.from), number(data.to)!];
    const { blur } = this.#facts;
    const faults: string[] = [];
    const [notBefore, notAfter] = [Date.parse(`${data.notBefore}`), Date.parse(`${data.notAfter}`)];
    if (from !== heard.state) faults.push(`change ${data.sequence} begins in ${from}, the one before ended in ${heard.state}`);
    if (from === to) faults.push(`change ${data.sequence} changes nothing`);
    if (notBefore > notAfter) faults.push(`change ${data.sequence} ended before it began`);
    if (data.final !== FINAL.has(to)) faults.push(`change ${data.sequence} to ${to} says final ${data.final}`);
    const { history } = this.#facts.truth(data.purchaseId!) ?? { history: [] };
    const place = history.findIndex(({ state }, index) => index > heard.place && state === to);
    if (place < 0) faults.push(`change ${data.sequence} leads to ${to}, where the purchase was not after ${heard.state}`);
    else {
      if (history[place]!.at > notAfter + blur) faults.push(`change ${data.sequence} to ${to} was seen before it happened`);
      const left = history[heard.place + 1]!.at;
      // The product writes when the answer had come, and the service may have made it as long before as a call may take.
      const took = isCalm(this.#facts.excuses, notBefore - CALL_TAKES, notBefore, { spoiled: false }) ? 0 : CALL_TAKES;
      if (heard.place >= 0 && left < notBefore - blur - took)
        faults.push(`change ${data.sequence}: ${from} was seen after it was left`);
    }
    heard.place = Math.max(place, heard.place);
    if (heard.stuckSince !== null) heard.owed = { stateSince: heard.since, stuckSince: heard.stuckSince };
    Object.assign(heard, { state: to, since: data.notAfter, stuckSince: null, isAtRisk: false });
    return faults;
  }

  /** At risk is who is stuck, once for each stay, and only while the purchase is still there. */
  #risk(heard: Heard, { timestamp, data }: Event): string[] {
    const faults: string[] = [];
    if (heard.isAtRisk && !this.#facts.losesRisks) faults.push('it is at risk for the second time of one stay');
    heard.isAtRisk = true;
    if (heard.stuckSince === null) faults.push('it is at risk, and not stuck');
    if (number(data.state) !== heard.state) faults.push(`it is at risk in ${number(data.state)}, and was seen in ${heard.state}`);
    const { history } = this.#facts.truth(data.purchaseId!) ?? { history: [] };
    const left = history[heard.place + 1]?.at ?? Number.POSITIVE_INFINITY;
    if (left < Date.parse(timestamp) - CALL_TAKES - this.#facts.blur) faults.push('it is at risk, and had gone on');
    return faults;
  }

  /** Stuck is who was asked about in the same state at the limit, and time in which nobody could ask counts towards no limit. */
  #stick(heard: Heard, data: Event['data']): string[] {
    const { limits, blur, excuses } = this.#facts;
    const faults: string[] = [];
    const state = number(data.state)!;
    const [since, stuckSince] = [`${data.stateSince}`, `${data.stuckSince}`];
    // Who was stopped is stuck no more, and may be taken up.
    if (heard.stuckSince !== null && !this.#has('stopped', data.purchaseId))
      faults.push(`it is stuck in ${state} for the second time of one stay`);
    if (state !== heard.state || (since !== heard.since && Number.isFinite(blur)))
      faults.push(`it is stuck in ${state} since ${since}, and was seen in ${heard.state} since ${heard.since}`);
    heard.stuckSince = stuckSince;
    const limit = limits.get(state);
    if (limit === undefined) return [...faults, `it is stuck in ${state}, which has no limit`];
    const [began, told] = [Date.parse(since), Date.parse(stuckSince)];
    const excused = blindTime(excuses, began, told);
    if (Number.isFinite(blur) && told < began + limit + excused)
      faults.push(`it is stuck in ${state} after ${told - began} ms, ${excused} of them excused; the limit is ${limit}`);
    const { history } = this.#facts.truth(data.purchaseId!) ?? { history: [] };
    const left = history[heard.place + 1]?.at ?? Number.POSITIVE_INFINITY;
    if (left < began + limit + excused - blur) faults.push(`it is stuck in ${state}, and had left after ${left - began} ms`);
    return faults;
  }
}

/** Whether something of a kind happened, to a purchase where one is given. */
export const has = (excuses: readonly Excuse[], kind: Excuse['kind'], purchaseId?: string): boolean =>
  excuses.some(
    (each) => each.kind === kind && (purchaseId === undefined || ('purchaseId' in each && each.purchaseId === purchaseId)),
  );

/** Time between two moments that counts towards no limit, as far as polls show it. */
function blindTime(excuses: readonly Excuse[], from: number, to: number): number {
  let time = 0;
  for (const each of excuses)
    if (each.kind === 'blind') time += Math.max(0, Math.min(each.to, to) - Math.max(each.from, from) - LATE_POLL);
  return time;
}

/** A stay in a state by its purchase and its time, or by the purchase alone where times may be moved. */
export const stayOf = ({ blur }: Facts, purchaseId: string, since: string | null): string =>
  Number.isFinite(blur) ? `${purchaseId} ${since}` : purchaseId;

/** The events of a purchase that a receiver took, in the order in which it took them first. */
export const eventsOf = (taken: ReadonlyMap<string, string>, purchaseId: string): Event[] =>
  [...taken.values()].map((body) => JSON.parse(body) as Event).filter(({ data }) => data.purchaseId === purchaseId);

function mapIn<Key, Value>(maps: Map<string, Map<Key, Value>>, name: string): Map<Key, Value> {
  const found = maps.get(name) ?? new Map<Key, Value>();
  maps.set(name, found);
  return found;
}

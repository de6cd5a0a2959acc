/** What travels between the bench and its processes. */

/** What a process can be asked, by name. */
export type Handlers = Record<string, (argument: never) => unknown>;

export interface Message {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

export interface Usage {
  readonly cpuMs: number;
  readonly rss: number;
}

/** Milliseconds of the machine's monotonic clock: the same in every process, unlike `performance.now()`. */
export function machineTime(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A purchase's id by its number: a GUID, as real ones are. */
export function purchaseId(index: number): string {
  return `00000000-0000-4000-8000-${index.toString(16).padStart(12, '0')}`;
}

/** The number of a purchase by its id. */
export function indexOf(id: string): number {
  return Number.parseInt(id.slice(-12), 16);
}

/** The states that a purchase of the bench goes through, round and round: none of them is final. */
export const CYCLE = [6, 4, 1, 7, 9] as const;

/** A change of state as the service answered it, or as a receiver got it. */
export interface Sighting {
  readonly index: number;
  readonly state: number;
  /** Machine time. */
  readonly at: number;
}

/** A webhook as a receiver got it. */
export interface Receipt extends Sighting {
  /** Of the address it came to: which subscriber it was for. */
  readonly path: string;
  /** The `webhook-id`. */
  readonly id: string;
  readonly sequence: number;
  /** Requests of that path without an answer at that moment, this one among them. */
  readonly inFlight: number;
}

/** An event that was committed. Machine times. */
export interface Commit {
  readonly index: number;
  readonly sequence: number;
  /** When it should have begun: the schedule does not wait for anybody. */
  readonly planned: number;
  /** When the commit was answered. */
  readonly committed: number;
}

/**
 * The common part of channels to message brokers: one connection that is made when something is to be sent, kept, and
 * made again after it was lost; one deadline for connecting, publishing and the broker's confirmation.
 */
import type { Milliseconds } from '../../domain/values/time.ts';
import { monotonic, startTimer, timeoutSignal } from '../../runtime/time.ts';
import { type NetworkFailure, networkFailureOf } from '../http/network-failure.ts';
import type { Channel, OutgoingEvent, SendOptions, SendResult } from '../outgoing/channel.ts';
import type { BrokerMessage } from './broker-message.ts';

/** Why a broker did not take a message, in words for people and without secrets. */
export class BrokerFailure extends Error {
  readonly failure: NetworkFailure;

  constructor(failure: NetworkFailure, cause?: unknown) {
    super(failure.detail, { cause });
    this.failure = failure;
  }
}

/** An open connection. */
export interface BrokerLink {
  /**
   * Hands a message over and waits until the broker has confirmed that it keeps it; answers what the broker answered.
   * Rejects with a BrokerFailure, or with an error of a socket.
   */
  publish(message: BrokerMessage, within: Milliseconds): Promise<string>;
  /** Resolves when the connection is gone, whichever end closed it. */
  readonly ended: Promise<void>;
  /** Why the broker holds back what it was given, in its own words; null when it does not. */
  heldBack(): NetworkFailure | null;
  /** Takes leave of the broker. May never resolve when that does not answer. */
  close(): Promise<void>;
}

/** How long a broker may take to answer a farewell. */
const FAREWELL: Milliseconds = 1_000;

const STOPPED: NetworkFailure = { reason: 'stopped', detail: 'The attempt was stopped.', fault: 'ours' };

/** One connection, from the first attempt to make it. */
interface Slot {
  readonly link: Promise<BrokerLink>;
  isOpen: boolean;
  /** Ends it at once. */
  readonly abort: () => void;
  /** How many messages were handed over; each has its number. */
  handedOver: number;
  /** The highest number that was confirmed. */
  confirmed: number;
}

/** A channel over connections that `open` makes; an abort ends whatever there is, at once and without a further word to the broker. */
export function createBrokerChannel(
  open: (signal: AbortSignal) => Promise<BrokerLink>,
  compose: (event: OutgoingEvent, options: SendOptions) => BrokerMessage,
  timeout: Milliseconds,
): Channel {
  let current: Slot | null = null;
  let closing: Promise<void> | undefined;
  const running = new Set<Promise<unknown>>();

  const connect = (): Slot => {
    const controller = new AbortController();
    let isLate = false;
    const abort = (): void => {
      clearTimeout(timer);
      if (current === slot) current = null;
      controller.abort();
    };
    // Attempts that joined later wait no longer than the one that began it.
    const timer = startTimer(() => {
      isLate = true;
      abort();
    }, timeout);
    const link = open(controller.signal).catch((error: unknown) => {
      throw isLate ? noConnection(timeout) : error;
    });
    const slot: Slot = { link, isOpen: false, abort, handedOver: 0, confirmed: 0 };
    link
      .then(({ ended }) => {
        clearTimeout(timer);
        slot.isOpen = true;
        return ended;
      })
      .then(abort, abort);
    return slot;
  };

  const publish = async (slot: Slot, message: BrokerMessage, until: number, { mayLeave }: SendOptions): Promise<string> => {
    const link = await before(until, slot.link, () => noConnection(timeout));
    if (mayLeave?.() === false) throw new BrokerFailure(STOPPED);
    slot.handedOver += 1;
    const number = slot.handedOver;
    const answer = link.publish(message, until - monotonic()).then((answered) => {
      slot.confirmed = Math.max(slot.confirmed, number);
      return answered;
    });
    return await before(until, answer, () => {
      const heldBack = link.heldBack();
      if (heldBack !== null) return new BrokerFailure(heldBack);
      // When a later one was confirmed, the broker has read this one. Otherwise it may still be on its way here, and must not
      // leave this machine any more once its attempt is called a failure.
      if (slot.confirmed < number) slot.abort();
      const detail = `The broker did not confirm the message within ${timeout} ms.`;
      return new BrokerFailure({ reason: 'timeout', detail, fault: 'receiver' });
    });
  };

  const attempt = async (event: OutgoingEvent, options: SendOptions): Promise<SendResult> => {
    const { signal } = options;
    const started = monotonic();
    const tookMs = (): Milliseconds => Math.round(monotonic() - started);
    try {
      if (closing !== undefined || signal?.aborted) throw new BrokerFailure(STOPPED);
      const message = compose(event, options);
      current ??= connect();
      const excerpt = await unlessStopped(signal, publish(current, message, monotonic() + timeout, options));
      return { kind: 'delivered', httpStatus: null, tookMs: tookMs(), excerpt };
    } catch (error) {
      const failure = error instanceof BrokerFailure ? error.failure : networkFailureOf(error);
      return { kind: 'failed', ...failure, httpStatus: null, retryAfter: null, tookMs: tookMs(), excerpt: '' };
    }
  };

  const leave = async (): Promise<void> => {
    await Promise.allSettled(running);
    const slot = current;
    if (slot?.isOpen) {
      const farewell = slot.link.then((link) => link.close());
      await before(monotonic() + FAREWELL, farewell, () => new BrokerFailure(STOPPED)).catch(() => undefined);
    }
    slot?.abort();
  };

  return {
    send: (event, options) => {
      const sending = attempt(event, options);
      running.add(sending);
      void sending.finally(() => running.delete(sending));
      return sending;
    },
    close: () => {
      closing ??= leave();
      return closing;
    },
  };
}

/**
 * Connects to one of several servers of a cluster: the one that served last, or the one after it when that connection was
 * lost, then the others in turn. Each has its part of the time, so that one that says nothing does not keep the rest from
 * being asked. Rejects with the error of the last one.
 */
export function takingTurns<Server>(
  servers: readonly Server[],
  timeout: Milliseconds,
  open: (server: Server, signal: AbortSignal) => Promise<BrokerLink>,
): (signal: AbortSignal) => Promise<BrokerLink> {
  if (servers.length === 1) return (signal) => open(servers[0]!, signal);
  const share = Math.floor(timeout / servers.length);
  let next = 0;
  return async (signal) => {
    let failure: unknown;
    for (let asked = 0; asked < servers.length && !signal.aborted; asked++) {
      const server = servers[next]!;
      const tooLong = timeoutSignal(share);
      const connecting = new AbortController();
      const end = (): void => connecting.abort();
      signal.addEventListener('abort', end, { once: true });
      tooLong.addEventListener('abort', end, { once: true });
      try {
        const link = await open(server, connecting.signal);
        tooLong.removeEventListener('abort', end);
        void link.ended.then(() => {
          signal.removeEventListener('abort', end);
          if (servers[next] === server) next = (next + 1) % servers.length;
        });
        return link;
      } catch (error) {
        signal.removeEventListener('abort', end);
        tooLong.removeEventListener('abort', end);
        failure = tooLong.aborted ? noConnection(share) : error;
        next = (next + 1) % servers.length;
      }
    }
    throw failure;
  };
}

function noConnection(timeout: Milliseconds): BrokerFailure {
  const detail = `There was no connection to the broker within ${timeout} ms.`;
  return new BrokerFailure({ reason: 'timeout', detail, fault: 'receiver' });
}

/** There never was a connection: whatever answers at the address does not speak as this kind of broker does. */
export function noBroker(kind: string, cause?: unknown): BrokerFailure {
  const detail = `No connection to the broker came about: what answers at its address may be no ${kind}.`;
  return new BrokerFailure({ reason: 'connection_lost', detail, fault: 'receiver' }, cause);
}

/** The connection ended before the broker confirmed. */
export function connectionLost(cause?: unknown): BrokerFailure {
  const detail = 'The connection to the broker ended before it confirmed the message.';
  return new BrokerFailure({ reason: 'connection_lost', detail, fault: 'receiver' }, cause);
}

/** The outcome of the work, or what `late` makes when the moment (of the monotonic clock) comes first. */
async function before<T>(moment: number, work: Promise<T>, late: () => Error): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = startTimer(() => deadline.reject(late()), Math.ceil(moment - monotonic()));
  try {
    return await Promise.race([work, deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function unlessStopped<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  const stop = Promise.withResolvers<never>();
  const onAbort = (): void => stop.reject(new BrokerFailure(STOPPED));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, stop.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Sends one call and brings back its bytes, or the reason why there are none. Knows HTTP, connections, one deadline for
 * the whole call and a cap on the body; knows nothing about purchases. Never rejects.
 *
 * The transport uses undici's `dispatch` with one Client per connection instead of `request` on a Pool: no stream per answer
 * and no search for an idle connection, and it knows whether a connection was used before, which the retry below needs.
 */

import { shownAddress } from '../domain/values/shown-address.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { DIRECT, type Way } from '../domain/values/way.ts';
import { connectBy } from '../runtime/http/tunnel.ts';
import type { RequestTrace } from '../runtime/traces/traces.ts';
import type { Call, Failure, Reply } from './call.ts';
import { Connections } from './connections.ts';
import { Deadlines } from './deadlines.ts';
import { Exchange } from './exchange.ts';

export type Transport = ReturnType<typeof createTransport>;

interface TransportOptions {
  readonly baseUrl: URL;
  /** Directly unless given. */
  readonly way: Way | undefined;
  readonly connections: number;
  /** For one call: connecting, headers and body together. */
  readonly timeout: Milliseconds;
  /** Of a body; a longer one is not read to its end. */
  readonly maxBytes: number;
}

export function createTransport({ baseUrl, way = DIRECT, connections: most, timeout, maxBytes }: TransportOptions) {
  const connections = new Connections({ origin: baseUrl.origin, most, connect: connectBy(way, { timeout }) });
  const deadlines = new Deadlines();
  const prefix = baseUrl.pathname.replace(/\/+$/, '');
  const line = { connections, deadlines, origin: baseUrl.origin, prefix, timeout, maxBytes };
  const address = shownAddress(baseUrl.href);
  const send = (call: Call, deadline: { by: Milliseconds }): Promise<Reply | Failure> =>
    new Promise((resolve) => connections.lend(new Exchange(line, call, deadline, resolve)));
  const sendTraced = async (call: Call, deadline: { by: Milliseconds }, trace: RequestTrace): Promise<Reply | Failure> => {
    const span = trace.request({ method: call.method, address, path: call.path });
    const reply = await send({ ...call, headers: [...call.headers, 'traceparent', span.traceparent] }, deadline);
    span.end(reply.status, 'failed' in reply ? reply.failed : null);
    return reply;
  };
  return {
    /**
     * Sends as soon as a connection is free. The deadline begins then, since waiting for our own other calls says nothing
     * about the service. It is written into `deadline.by` (monotonic milliseconds); one that has a value is kept, so that
     * two calls can share it. `trace`: where the call's span belongs.
     */
    send: (call: Call, deadline: { by: Milliseconds } = { by: 0 }, trace?: RequestTrace): Promise<Reply | Failure> =>
      trace === undefined ? send(call, deadline) : sendTraced(call, deadline, trace),
    /** Breaks off what is on its way: those calls, and later ones, end as `stopped`. */
    async close(): Promise<void> {
      await connections.close();
      deadlines.stop();
    },
  };
}

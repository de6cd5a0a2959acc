/** Sends calls with authorization, and once more with a renewed one when the service rejects it. Never rejects. */

import type { Instant, Milliseconds } from '../domain/values/time.ts';
import { UNPACKED } from '../runtime/http/unpacked.ts';
import { delay, monotonic } from '../runtime/time.ts';
import type { RequestTrace } from '../runtime/traces/traces.ts';
import type { Call, Reply } from './call.ts';
import { isTrouble } from './payment-status.ts';
import type { Access } from './token.ts';
import type { Transport } from './transport.ts';
import { failureTrouble, statusTrouble, type TroubleObservation } from './trouble.ts';

/** Answers a 2xx reply or what went wrong. */
type AuthorizedCall = (
  method: Call['method'],
  path: string,
  body: string | null,
  trace?: RequestTrace,
) => Promise<Reply | TroubleObservation>;

interface AuthorizedOptions {
  readonly transport: Transport;
  readonly access: Access;
  readonly clock: { now(): Instant };
  readonly onReply: ((reply: Pick<Reply, 'status' | 'headers'>) => void) | undefined;
}

/** A call whose authorization the service rejected. */
interface Rejected {
  readonly method: Call['method'];
  readonly path: string;
  readonly body: string | null;
  readonly header: string;
  readonly deadline: { by: Milliseconds };
  readonly trace: RequestTrace | undefined;
  readonly reply: Reply;
}

export function authorizedCalls({ transport, access, clock, onReply }: AuthorizedOptions): AuthorizedCall {
  const headersFor = createHeaders();
  return async (method, path, body, trace) => {
    const ready = access.header();
    const header = typeof ready === 'string' ? ready : await ready;
    if (typeof header !== 'string') return header;
    const deadline = { by: 0 };
    const reply = await transport.send({ method, path, headers: headersFor(header, body), body }, deadline, trace);
    if ('failed' in reply) return failureTrouble(reply);
    const answer = isRejection(reply)
      ? await sendRenewed({ transport, access, headersFor }, { method, path, body, header, deadline, trace, reply })
      : reply;
    if (isTrouble(answer)) return answer;
    onReply?.(answer);
    return answer.status >= 200 && answer.status < 300 ? answer : statusTrouble(answer, clock.now());
  };
}

/** Answers the rejection itself when there is no other authorization worth trying. */
async function sendRenewed(
  { transport, access, headersFor }: Pick<AuthorizedOptions, 'transport' | 'access'> & { readonly headersFor: HeadersFor },
  { method, path, body, header, deadline, trace, reply }: Rejected,
): Promise<Reply | TroubleObservation> {
  const other = await Promise.race([access.instead(header), expiry(deadline.by)]);
  if (other === null) return reply;
  if (typeof other !== 'string') return other;
  const second = await transport.send({ method, path, headers: headersFor(other, body), body }, deadline, trace);
  if ('failed' in second) return failureTrouble(second);
  if (isRejection(second)) access.gaveUp();
  return second;
}

function isRejection(reply: Reply): boolean {
  return reply.status === 401 || reply.status === 403;
}

type HeadersFor = (authorization: string, body: string | null) => string[];

/** Headers are the same from call to call until the token is renewed, so they are written once. */
function createHeaders(): HeadersFor {
  let written = { authorization: '', bare: [] as string[], withBody: [] as string[] };
  return (authorization, body) => {
    if (written.authorization !== authorization) {
      const bare = ['authorization', authorization, 'accept', 'application/json', ...UNPACKED];
      written = { authorization, bare, withBody: [...bare, 'content-type', 'application/json'] };
    }
    return body === null ? written.bare : written.withBody;
  };
}

/** Ends the wait for a renewal that the call's own deadline does not leave time for. */
async function expiry(by: Milliseconds): Promise<TroubleObservation> {
  await delay(Math.max(0, by - monotonic()), undefined, { ref: false });
  return failureTrouble({ failed: 'timeout', status: null, phase: 'waiting' });
}

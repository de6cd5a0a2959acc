/** A webhook receiver for tests, as a subscriber would write one: it checks signatures with the official library. */
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { type StandIn, startStandIn } from './stand-in.ts';

interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  /** The exact text. */
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether the signature is good; null when the receiver was started without a secret. */
  readonly verified: boolean | null;
}

export interface Receiver extends StandIn<ReceivedEvent> {
  readonly url: string;
}

function isVerified(secret: string, body: string, headers: IncomingHttpHeaders): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

function typeOf(body: string): string {
  try {
    return String(JSON.parse(body).type);
  } catch {
    return '';
  }
}

/** Starts a receiver that answers 200 to everything by default. */
export async function startReceiver({ secret, host }: { secret?: string; host?: string } = {}): Promise<Receiver> {
  const standIn = await startStandIn<ReceivedEvent>(({ body, headers, at }) => {
    const verified = secret === undefined ? null : isVerified(secret, body, headers);
    return { kept: { id: String(headers['webhook-id']), type: typeOf(body), body, headers, at, verified } };
  }, host);
  return { ...standIn, url: `${standIn.origin}/hook` };
}

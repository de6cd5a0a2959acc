/** When certificates expire: of this side as configured, of other ends as they showed them to this process. */
import { X509Certificate } from 'node:crypto';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';

export interface Expiry {
  /** The owner of the certificate: host and port, or a subscriber. */
  readonly name: string;
  readonly at: Instant;
}

/** A host that was not dialled for so long may have another certificate by now, or be gone from the settings. */
const KEPT: Milliseconds = 7 * DAY;
/** Hosts at most; subscribers can be made through the API. */
const MOST = 1_000;

/** By host and port, the one that was dialled last at the end. Of the whole process, as its connections are. */
const seen = new Map<string, { readonly at: Instant; readonly seenAt: number }>();

/** Keeps when the certificate expires that a host has shown on a new connection. */
export function noteCertificate(host: string, port: number | string, socket: TLSSocket): void {
  // Empty when TLS resumed an earlier session.
  const { valid_to } = socket.getPeerCertificate() ?? {};
  if (valid_to === undefined) return;
  const name = `${host}:${port}`;
  seen.delete(name);
  seen.set(name, { at: Date.parse(valid_to), seenAt: Date.now() });
  if (seen.size > MOST) seen.delete(seen.keys().next().value!);
}

/** The certificates that other ends have shown within a time, a week unless given. */
export function seenCertificates(within = KEPT): Expiry[] {
  const now = Date.now();
  for (const [name, { seenAt }] of seen) if (seenAt < now - KEPT) seen.delete(name);
  return [...seen].filter(([, { seenAt }]) => seenAt >= now - within).map(([name, { at }]) => ({ name, at }));
}

/** When a certificate in PEM expires; the first of a chain. */
export function expiryOf(pem: string | Buffer): Instant {
  return new X509Certificate(pem).validToDate.getTime();
}

/** undici publishes each new connection of any pool: of sites, receivers and channels, through proxies too. */
subscribe('undici:client:connected', (message) => {
  const { connectParams, socket } = message as { connectParams: { hostname: string; port: string }; socket: Socket };
  if (socket instanceof TLSSocket) noteCertificate(connectParams.hostname, connectParams.port || 443, socket);
});

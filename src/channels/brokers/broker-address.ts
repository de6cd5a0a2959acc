/** Reads addresses of brokers. Their credentials are for the connection alone: nothing here quotes them. */
import { brokerServers } from '../../config/kinds/broker-servers.ts';
import { AppError } from '../../domain/values/errors.ts';

/** A client's certificate, with its chain, and the private key, in PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

/** The servers that an address names. Throws AppError `configuration`, with an example, for what is no such address. */
export function readBrokerAddress(
  text: string,
  { broker, protocols, example }: { broker: string; protocols: readonly string[]; example: string },
) {
  const servers = brokerServers(text);
  if (servers === null || !protocols.includes(servers[0]!.protocol)) {
    throw new AppError('configuration', `${broker} needs an address such as ${example}, without ? and #`);
  }
  const decoded = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw new AppError('configuration', `the credentials in the address of ${broker} must be percent-encoded: a % is %25`);
    }
  };
  return servers.map((url) => ({
    /** `nats:`, `amqps:`, … */
    protocol: url.protocol,
    /** An IPv6 address without its brackets. */
    hostname: url.hostname.replaceAll(/^\[|\]$/g, ''),
    /** Null: the usual one. */
    port: url.port === '' ? null : Number(url.port),
    /** As they are, not as they are written in an address; empty when there is none. */
    user: decoded(url.username),
    password: decoded(url.password),
    /** As it is written. */
    path: url.pathname,
  }));
}

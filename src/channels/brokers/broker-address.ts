/** Reads addresses of brokers. Their credentials are for the connection alone: nothing here quotes them. */
import { brokerServers } from '../../config/kinds/broker-servers.ts';
import { AppError } from '../../domain/values/errors.ts';

/** A client's certificate, with its chain, and the private key, in PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

export interface BrokerAddress {
  /** `nats:`, `amqps:`, … */
  readonly protocol: string;
  /** An IPv6 address without its brackets. */
  readonly hostname: string;
  /** Null: the usual one. */
  readonly port: number | null;
  /** As they are, not as they are written in an address; empty when there is none. */
  readonly user: string;
  readonly password: string;
  /** As it is written. */
  readonly path: string;
}

/** The servers that an address names. Throws AppError `configuration`, with an example, for what is no such address. */
export function readBrokerAddress(
  text: string,
  { broker, protocols, example }: { broker: string; protocols: readonly string[]; example: string },
): BrokerAddress[] {
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
    protocol: url.protocol,
    hostname: url.hostname.replaceAll(/^\[|\]$/g, ''),
    port: url.port === '' ? null : Number(url.port),
    user: decoded(url.username),
    password: decoded(url.password),
    path: url.pathname,
  }));
}

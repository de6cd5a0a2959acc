/**
 * Web pages in a developer's browser reach what listens on that machine. A page whose own name was made to resolve to the simulator
 * shows that name in Host; a page of another origin shows itself in Sec-Fetch-Site or Origin. Programs send none of this.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { Problem } from './problems.ts';

/** Where this simulator is found under names that the outside world could own. */
export interface KnownHosts {
  readonly host: string;
  readonly allowHosts: readonly string[];
}

/** Throws a Problem for a request of a page that is not the simulator's own; a link that a person follows leads here all the same. */
export function refuseOtherPages({ headers, method, url }: IncomingMessage, known: KnownHosts): void {
  // A balancer that looks whether a container lives calls the container by any name, and learns nothing.
  if (url === '/healthz') return;
  const { host, origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers;
  if (host !== undefined && !isKnown(host, known)) {
    const shown = JSON.stringify(host.slice(0, 80));
    const cure = 'start the simulator with that name as --allow-host (allowHosts in a program), or call http://127.0.0.1';
    throw new Problem('foreign_host', `The Host header says ${shown}, a name that the simulator does not have: ${cure}.`);
  }
  const isLink = mode === 'navigate' && (method === 'GET' || method === 'HEAD');
  const isOwn = site === undefined ? origin === undefined || isOrigin(origin, host) : site === 'same-origin' || site === 'none';
  if (isOwn || isLink) return;
  const cure = "call from a program, or from the simulator's own pages";
  throw new Problem('cross_site', `A web page of another origin sent this: ${cure}.`);
}

/** An address, or a name that no stranger can own: without a dot, or below a suffix that is kept for private use. */
function isKnown(host: string, { host: own, allowHosts }: KnownHosts): boolean {
  const name = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? '';
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^[^.]+$|\.(?:internal|localhost|test)$/.test(name)) return true;
  return [own, ...allowHosts].some((allowed) => allowed.toLowerCase() === name);
}

function isOrigin(origin: string, host: string | undefined): boolean {
  return origin.toLowerCase() === `http://${host?.toLowerCase()}`;
}

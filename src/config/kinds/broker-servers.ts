/**
 * Addresses of brokers. The host may be a list, the servers of one cluster, as their own clients write it:
 * `amqps://user:password@mq-1.example,mq-2.example:5671/shop`.
 */

/** Credentials may hold anything but a slash; they end at the last @. */
const PARTS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^@/?#]+)(\/[^?#]*)?$/i;

/** An address for each server, with the same credentials and path; null when one cannot be read. */
export function brokerServers(text: string): URL[] | null {
  const [, before, hosts, path = ''] = PARTS.exec(text) ?? [];
  if (before === undefined || hosts === undefined) return null;
  const urls = hosts.split(',').map((host) => URL.parse(before + host + path));
  return urls.every((url) => url !== null && url.hostname !== '') ? (urls as URL[]) : null;
}

/** The one way of writing them; for one server it is the URL as it is. */
export function brokerHref(servers: readonly URL[]): string {
  const { href, protocol, username, password, pathname } = servers[0]!;
  if (servers.length === 1) return href;
  const login = [username, ...(password === '' ? [] : [password])].join(':');
  return `${protocol}//${login === '' ? '' : `${login}@`}${servers.map(({ host }) => host).join()}${pathname}`;
}

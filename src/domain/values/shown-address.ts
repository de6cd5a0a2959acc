/** How addresses are shown, wherever they are: an address may give access by its path as well as by its query or credentials. */

/** Stands for what is not shown. */
export const HIDDEN_PATH = '/…';

const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)(.*)$/is;

/**
 * Scheme, host and port of an address; `/…` where there is more than that. Takes any scheme and several hosts separated by
 * commas (`nats://user:password@a,b:4222` is shown as `nats://a,b:4222`). What is no address is not shown at all.
 */
export function shownAddress(address: string): string {
  const [, scheme, authority = '', rest = ''] = PARTS.exec(address) ?? [];
  if (scheme === undefined) return HIDDEN_PATH.slice(1);
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  // An @ behind the first slash: what looks like the host may be the beginning of a password that holds a slash.
  if (hosts === authority && rest.includes('@') && !/^https?:/i.test(scheme)) return `${scheme}${HIDDEN_PATH.slice(1)}`;
  return `${scheme}${hosts}${/^\/?$/.test(rest) ? '' : HIDDEN_PATH}`;
}

/** Whether an address is one that was shown, and not the whole of it. */
export function isShortened(address: string): boolean {
  return /…|%E2%80%A6/i.test(address);
}

/** Stored secrets and the address that they were given for. */
import { Refused } from './refused.ts';

/**
 * Throws Refused where stored headers would go to another origin: their values were given for the receiver before, and who moves
 * a subscriber could read them there. Signing keys stay, because no signature reveals one.
 */
export function requireSameOrigin(
  name: string,
  { before, url, headers }: { before: string; url: string; headers: Readonly<Record<string, string>> },
): void {
  const names = Object.keys(headers);
  const { origin } = new URL(before);
  if (names.length === 0 || new URL(url).origin === origin) return;
  throw new Refused(
    'headers_not_given',
    `nothing was changed: the headers of ${JSON.stringify(name)} (${names.join(', ')}) were given for ${origin}, and another origin does not get their stored values; ` +
      'give all headers again together with the address (headers, or --header), or take them away (headers: null, or --no-header)',
  );
}

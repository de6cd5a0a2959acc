/** Headers that a subscriber may have on top of ours: which names and values, for settings, API and commands alike. */

/** Headers of one subscriber, and bytes of all of them: receivers and proxies refuse more than a few kilobytes. */
const MOST_HEADERS = 20;
const MOST_BYTES = 4_096;

/** Names that purchase-watch sets itself, that belong to one connection, or that receivers take for what they are not. */
const because = (why: string, names: string) => names.split(' ').map((name) => [name, why] as const);
const FORBIDDEN = new Map([
  ...because(
    'is set by purchase-watch or its HTTP client',
    'host content-length content-type content-encoding date user-agent expect',
  ),
  ...because('belongs to the connection', 'connection keep-alive te trailer transfer-encoding upgrade http2-settings'),
  ...because(
    'belongs to browsers; use a name of your own',
    'cookie cookie2 set-cookie origin referer access-control-request-method access-control-request-headers',
  ),
  ...because(
    'is set by proxies on the way',
    'forwarded via x-forwarded x-real-ip x-client-ip x-cluster-client-ip x-host x-original-host x-original-forwarded-for true-client-ip cf-connecting-ip fly-client-ip',
  ),
  ...because(
    'is read in place of the address or the method',
    'x-original-url x-original-uri x-rewrite-url x-http-method-override x-http-method x-method-override',
  ),
  ...because('asks for answers that are not read here', 'accept-encoding'),
  ...because('says that the body is a part of one', 'content-range'),
]);
const RESERVED: readonly (readonly [string, string])[] = [
  ['webhook-', 'belongs to Standard Webhooks'],
  ['ce-', 'belongs to CloudEvents'],
  ['proxy-', 'belongs to proxies'],
  ['sec-', 'belongs to browsers'],
  ['x-forwarded-', 'is set by proxies on the way'],
];
/** A token of HTTP. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** A value that a header can hold: Latin-1 without controls; a tab only between other characters. */
const VALUE = /^[\x21-\x7e\xa0-\xff](?:[\t\x20-\x7e\xa0-\xff]*[\x21-\x7e\xa0-\xff])?$/;

const NO_NAME = "is not a header name: letters, digits and !#$%&'*+-.^_`|~, up to 100";
/** Said of all headers together where one has a name that could not be sent: it may be a value in the wrong place. */
export const UNSHOWN_NAME = `holds something (not shown) that ${NO_NAME}`;

/** Whether a text can be a header's name; a text that cannot is quoted nowhere. */
export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

/** Why there can be no header of this name, or null. */
export function headerNameProblem(name: string): string | null {
  if (!isHeaderName(name)) return NO_NAME;
  // Receivers that hand headers on as variables (CGI, WSGI) cannot distinguish the two.
  const lower = name.toLowerCase().replaceAll('_', '-');
  const why = FORBIDDEN.get(lower) ?? RESERVED.find(([prefix]) => lower.startsWith(prefix))?.[1];
  return why === undefined ? null : `cannot be set: it ${why}`;
}

/** The form of a header's value, for errors. */
export const HEADER_VALUE = 'text of Latin-1 characters without line breaks and without spaces at its ends';

/** Whether a text can be a header's value. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}

/** The problem of a set of headers whose names and values are fine one by one; `name` is the header to blame, if it is one. */
export function headersProblem(headers: Readonly<Record<string, string>>): { name: string | null; problem: string } | null {
  const names = Object.keys(headers);
  if (names.length > MOST_HEADERS)
    return { name: null, problem: `has ${names.length} headers; at most ${MOST_HEADERS} are sent` };
  const seen = new Map<string, string>();
  for (const name of names) {
    const before = seen.get(name.toLowerCase());
    if (before !== undefined && isHeaderName(name)) return { name, problem: `is the same header as ${before}; keep one of them` };
    seen.set(name.toLowerCase(), name);
  }
  const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > MOST_BYTES)
    return { name: null, problem: `takes ${bytes} bytes with names and values; at most ${MOST_BYTES} are sent` };
  return null;
}

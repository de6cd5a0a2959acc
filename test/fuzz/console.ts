/** Hostile requests to every page and form of the console: odd paths, cookies, fields, bytes and bodies, with and without a session. */
import fc from 'fast-check';
import { PAGES } from '../../src/console/pages/pages.ts';
import { oddText } from '../api/generate.ts';
import { breathe, brief, edited, edits, hostileHeaderText, sample } from './hostile.ts';
import { exchange, serverFault } from './raw-http.ts';
import { PERSON } from './service.ts';
import { HIDDEN, KEY } from './world.ts';

export interface ConsoleDoor {
  /** Sends so many requests. */
  attack(seed: number, count: number): Promise<void>;
  /** Tokens of the sessions that were opened: no log may have them. */
  readonly tokens: readonly string[];
}

const AT_ONCE = 6;
/** Pages of their own kind, which the table of pages does not name. */
const ROUTES = [
  ...PAGES.map(({ method, path }) => ({ method, path })),
  ...['/sign-in', '/sign-out', '/theme'].map((path) => ({ method: 'POST', path })),
  ...['/sign-in', '/live', '/assets/:file', '/nothing/:id'].map((path) => ({ method: 'GET', path })),
];
const METHODS = ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
/** Bytes of an address as latin1 text. */
const ODD_PARTS = [
  '%',
  '%f',
  '%ff',
  '%00',
  '%C0%AF',
  '%E2%82',
  '%ED%A0%80',
  '..%2f..%2fetc',
  '.',
  '%2e%2e',
  '%2F',
  '%0d%0ax:%20y',
  '\\',
  ';a=b',
  '\xff\xe2',
  '//',
  '%25%30%30',
  '[',
  '%F0%9F%97%9D',
];
/** `NAME` is that of the cookie of a session. */
const COOKIES = [
  '=',
  ';;;',
  'NAME',
  'NAME=',
  'NAME=%',
  'NAME=%00',
  'NAME="\xff"',
  'purchase_watch_theme=%E0%A4%A',
  'purchase_watch_theme=dark',
  '__proto__=x',
  'constructor=1',
  `x=${'y'.repeat(7_000)}`,
  'NAME=a; NAME=b',
];
const ORIGINS = [
  'origin: https://evil.example',
  'origin: null',
  'origin: http://[',
  'origin: \xff',
  'sec-fetch-site: cross-site',
  'sec-fetch-site: none',
  'x-forwarded-for: 192.0.2.1',
  '',
];
const KEYS = [KEY, '', ' ', '\0', 'é€', '\u{1f5dd}', 'x'.repeat(513), `${KEY}\r\n`, '\ud800', `${KEY}\u00e9`];
/** Where a form may lead to. */
const ADDRESSES = ['/\u0001', '/\u007f', '/a\tb', '//evil.example', '/\\evil.example', '/é€', '/%0d%0ax: y', '/..//evil.example'];
/** Values that forms take. */
const GOOD = [
  'on',
  'wild-1',
  'calm',
  'calm-1',
  '1',
  '2h',
  '0',
  'true',
  'stuck',
  'silence',
  'acknowledge',
  'answer',
  'other',
  'count',
  'yes',
  'off',
  'exhausted',
  '2026-11-01',
  'https://example.com/hook',
  '{}',
  '/sites',
];
const TYPES = [
  '',
  'text/plain',
  'application/json',
  'application/x-www-form-urlencoded; charset=utf-16',
  'application/x-www-form-urlencoded;charset=x',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="',
  `multipart/form-data; boundary=${'b'.repeat(300)}`,
  'application/x-www-form-urlencoded, text/plain',
  '*/*',
  ';',
  '\xff',
];
const FORM = 'application/x-www-form-urlencoded';
const BOUNDARY = 'the-boundary';

const latin1 = (text: string): string => Buffer.from(text.toWellFormed()).toString('latin1');
/** Null unless in one of so many cases. */
const rarely = <T>(some: fc.Arbitrary<T>, oneOf = 6): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: oneOf - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some });

/** What pages show: names of fields by the address that their form posts to, and the addresses of other pages. */
interface Shown {
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
  readonly links: readonly string[];
}

interface Sent {
  readonly path: string;
  readonly bytes: string;
}

/** Opens the door. `found` is called with each wrong answer. */
export function openConsole(origin: string, found: (fault: string) => void): ConsoleDoor {
  const port = Number(new URL(origin).port);
  const tokens: string[] = [];
  let cookie = '';
  let renewing: Promise<void> | null = null;
  const signIn = async (): Promise<void> => {
    const body = new URLSearchParams({ key: KEY });
    const headers = { 'sec-fetch-site': 'same-origin' };
    let answer: Response;
    // Whoever signs in is a stranger, beside all the strangers of this run.
    do answer = await fetch(`${origin}/sign-in`, { method: 'POST', body, headers, redirect: 'manual' });
    while (answer.status === 503);
    [cookie] = answer.headers.getSetCookie()[0]!.split(';') as [string];
    tokens.push(cookie.split('=')[1]!);
  };
  /** Forms sign the session out, too. */
  const renew = (): Promise<void> => {
    renewing ??= signIn().finally(() => {
      renewing = null;
    });
    return renewing;
  };
  const look = async (): Promise<Shown> => {
    const names = new Map<string, Set<string>>();
    const links = new Set<string>();
    const visit = async (path: string): Promise<void> => {
      const text = await (await fetch(origin + path, { headers: { cookie } })).text();
      for (const [, target, form] of text.matchAll(/<form[^>]* action="(\/[^"?#]*)[^>]*>(.*?)<\/form>/gs)) {
        const fields = names.getOrInsertComputed(target!, () => new Set());
        for (const [, name] of form!.matchAll(/ name="([^"]+)"/g)) fields.add(name!);
      }
      for (const [, link] of text.matchAll(/(?:href|action)="(\/[^"?#]*)/g)) links.add(link!);
    };
    for (const { method, path } of PAGES) if (method === 'GET' && !path.includes(':')) await visit(path);
    for (const { method, path } of PAGES) {
      const link = [...links].find((each) => patternOf(path).test(each));
      if (method === 'GET' && path.includes(':') && link !== undefined) await visit(link);
    }
    return { names, links: [...links] };
  };
  const send = async (route: (typeof ROUTES)[number], { path, bytes }: Sent): Promise<void> => {
    const isSession = bytes.includes(SESSION);
    const sent = bytes.replace(SESSION, cookie).replaceAll('NAME', cookie.split('=')[0]!).replace('HOST', `127.0.0.1:${port}`);
    const answer = await exchange(port, Buffer.from(sent, 'latin1'));
    const where = `console, ${route.method} ${route.path}: ${brief(JSON.stringify(bytes))}`;
    const fault = serverFault(answer);
    if (fault !== null) found(`${where}\n  ${fault}`);
    const mayHold = /\/invoice$/.test(route.path) || path.includes('/invoice') ? [PERSON] : [];
    const secret = HIDDEN.find((each) => !mayHold.includes(each) && answer.includes(each));
    // A form that is refused shows again what was typed into its other fields.
    if (secret !== undefined && !(secret === KEY && bytes.includes(KEY)))
      found(`${where}\n  the answer holds the secret ${secret}`);
    if (isSession && /^location: \/sign-in/im.test(answer)) await renew();
  };
  return {
    tokens,
    attack: async (seed, count) => {
      await renew();
      const shown = await look();
      const made = ROUTES.map((route) => ({ route, requests: requestsTo(route, shown) }));
      const each = Math.ceil(count / made.length);
      const queue: { route: (typeof ROUTES)[number]; sent: Sent; turn: number }[] = [];
      for (const [index, { route, requests }] of made.entries()) {
        queue.push(...sample(requests, each, seed + index).map((sent, turn) => ({ route, sent, turn })));
        await breathe();
      }
      // The last requests of all routes come together, so that each form meets what other ones made.
      queue.sort((a, b) => b.turn - a.turn);
      queue.splice(0, Math.max(queue.length - count, 0));
      const worker = async (): Promise<void> => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) await send(next.route, next.sent);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
  };
}

/** Stands for the cookie of a session, which may be another one by the time that the request is sent. */
const SESSION = 'COOKIE-OF-THE-SESSION';

const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`);

/** Requests as latin1 text. */
function requestsTo({ method, path }: (typeof ROUTES)[number], { names, links }: Shown): fc.Arbitrary<Sent> {
  const known = links.filter((link) => patternOf(path).test(link));
  const part = fc.oneof(
    fc.constantFrom(...ODD_PARTS),
    oddText.map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const odd = part.map((text) => path.replace(/:\w+/g, () => text.slice(0, 2_000)));
  const address =
    known.length === 0 ? odd : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: odd });
  const suffix = rarely(part);
  const value = fc.oneof(
    oddText,
    oddText.map((text) => `/${text}`),
    fc.constantFrom(...ADDRESSES),
    fc.constantFrom(...GOOD),
  );
  const own = [...names].flatMap(([target, each]) => (patternOf(path).test(target) ? [...each] : []));
  const foreign = fc.constantFrom(...[...names.values()].flatMap((each) => [...each]), '__proto__', 'constructor');
  const name =
    own.length === 0 ? foreign : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...own) }, { weight: 1, arbitrary: foreign });
  const fields = fc.array(fc.tuple(name, value), { maxLength: 6 });
  const form =
    path === '/sign-in'
      ? fc.tuple(fc.constantFrom(...KEYS), value).map(([key, to]): [string, string][] => [
          ['key', key],
          ['to', to],
        ])
      : fields;
  const query = rarely(fc.oneof(fields.map(encoded), part, fc.constantFrom('q=%', '&&&', '=', 'limit=-1', 'cursor=%ff', '?')), 2);
  const origins = fc.oneof(
    { weight: 5, arbitrary: fc.constant('sec-fetch-site: same-origin') },
    { weight: 1, arbitrary: fc.constantFrom(...ORIGINS) },
  );
  const cookies = fc.oneof(
    { weight: 5, arbitrary: fc.constant(`cookie: ${SESSION}`) },
    { weight: 2, arbitrary: fc.constantFrom(...COOKIES).map((text) => `cookie: ${SESSION}; ${text}`) },
    { weight: 1, arbitrary: fc.constantFrom(...COOKIES).map((text) => `cookie: ${text}`) },
    { weight: 1, arbitrary: fc.constant('') },
  );
  const extra = rarely(
    fc.oneof(
      fc.constant('hx-request: true'),
      fc
        .tuple(
          fc.constantFrom('accept-encoding', 'content-encoding', 'hx-target', 'referer', 'range', 'expect', 'accept'),
          hostileHeaderText,
        )
        .map((pair) => pair.join(': ')),
    ),
    3,
  );
  const verbs = fc.oneof({ weight: 12, arbitrary: fc.constant(method) }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) });
  const body = method === 'POST' ? bodies(form) : fc.constant(['', ''] as const);
  return fc
    .tuple(verbs, fc.tuple(address, suffix, query), fc.tuple(origins, cookies, extra), body)
    .map(([verb, [place, more, search], headers, [type, content]]) => {
      const target = `${place}${more ?? ''}${search === null ? '' : `?${search}`}`.replace(/[\s\0]/g, '%20');
      const lines = [
        ...headers,
        type === '' ? '' : `content-type: ${type}`,
        content === '' && method === 'GET' ? '' : `content-length: ${content.length}`,
      ];
      const head = [
        `${verb} ${target} HTTP/1.1`,
        'host: HOST',
        'connection: close',
        ...lines.filter((line) => line !== null && line !== ''),
      ];
      return { path: target, bytes: `${head.join('\r\n')}\r\n\r\n${content}` };
    });
}

function encoded(fields: readonly (readonly [string, string])[]): string {
  return new URLSearchParams(fields.map(([name, value]) => [name, value.toWellFormed()])).toString();
}

/** Content types and bodies: forms in both ways of sending them, and what is no form. */
function bodies(fields: fc.Arbitrary<(readonly [string, string])[]>): fc.Arbitrary<readonly [string, string]> {
  const plain = fields.map(encoded);
  const parts = fields.map((all) => {
    const each = all.map(
      ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${latin1(value)}\r\n`,
    );
    return `${each.join('')}--${BOUNDARY}--\r\n`;
  });
  const damaged = (text: fc.Arbitrary<string>) => fc.tuple(text, edits).map(([whole, damage]) => latin1(edited(whole, damage)));
  const bytes = fc.array(
    fc.constantFrom(
      '%',
      '%f',
      '%ff',
      '%00',
      '+',
      '&',
      '=',
      '\xff',
      '\xe2\x82',
      '\0',
      ';',
      '[]',
      'key',
      'lines',
      '%ED%A0%80',
      '%u20ac',
    ),
    { maxLength: 30 },
  );
  const multipart = `multipart/form-data; boundary=${BOUNDARY}`;
  const file = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="lines"; filename="\xff/../x"\r\ncontent-type: \0\r\n\r\nx\r\n--${BOUNDARY}--`;
  const typed = (type: string, arbitrary: fc.Arbitrary<string>, weight: number) => ({
    weight,
    arbitrary: arbitrary.map((text) => [type, text] as const),
  });
  return fc.oneof(
    typed(FORM, plain, 5),
    typed(FORM, damaged(plain), 2),
    typed(
      FORM,
      bytes.map((each) => each.join('')),
      2,
    ),
    typed(multipart, parts, 2),
    typed(multipart, damaged(parts), 3),
    typed(multipart, fc.constantFrom('', '--', `--${BOUNDARY}`, file), 1),
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...TYPES), fc.oneof(plain, parts)) },
  );
}

/** A hostile checkout service: statuses, invoices and tokens with odd values, odd JSON and odd HTTP. */
import fc from 'fast-check';
import { hostileJson, seedOf, sometimesEdited } from './hostile.ts';
import { type Asked, type HostileServer, rowOf, startHostileServer } from './server.ts';
import { wireAnswers } from './wire-answers.ts';

/** The site whose service may ask for a rest of any length, and gets one of up to an hour. */
export const RESTING_SITE = 'resting';
const LONGEST_REST = 1;
/** Ids that begin with it are answered well, and with a state that is not final. */
export const ANCHOR = 'anchor';

/** A person's data, which must never be seen again. */
export const PERSON = 'Astrid-Persson-e41b7c';

const PERSONAL = [
  'InvoicingFirstName',
  'InvoicingLastName',
  'InvoicingAddressLine1',
  'DeliveryCity',
  'Phone',
  'Mail',
  'MaskedCardNumber',
  'RecPmtToken',
  'CustomerToken',
  'OrganizationNumber',
  'Attachment',
];
const TEXTS = ['Description', 'SiteCode', 'CountryCode', 'CurrencyCode', 'OrderReference', 'AccountClassCode'];
const TIMES = ['Created', 'BeingProcessed', 'Completed', 'Cancelled'];
const NUMBERS = ['Price', 'CustomerBalance', 'AuthenticationType', 'PaymentMethod', 'CustomerType'];
const NAMES = [...PERSONAL, ...TEXTS, ...TIMES, ...NUMBERS];

function goodValue(name: string): fc.Arbitrary<string> {
  if (PERSONAL.includes(name)) return fc.constantFrom(`"${PERSON}"`, 'null');
  if (TIMES.includes(name)) return fc.constantFrom('"2026-11-20T09:15:02.1234567"', 'null');
  if (NUMBERS.includes(name)) return fc.constantFrom('249.50', '2', '0', 'null');
  return fc.constantFrom('"SEK"', '"ORD-1"', 'null');
}

const state = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 14 }).map(String) },
  { weight: 2, arbitrary: fc.constantFrom('15', '17', '2147483647', '-2147483648', '-1', '2.0') },
  { weight: 1, arbitrary: hostileJson },
);
const oddField = fc.tuple(fc.constantFrom(...NAMES, '__proto__', 'Extra'), hostileJson);

/** The text of a status; `{{id}}` stands for the purchase that was asked for. */
const statusText = fc
  .tuple(state, fc.record(Object.fromEntries(NAMES.map((name) => [name, goodValue(name)]))), fc.array(oddField, { maxLength: 2 }))
  .map(([value, good, odd]) => {
    const all = { PurchaseId: '"{{id}}"', State: value, ...good, ...Object.fromEntries(odd) };
    return `{${Object.entries(all).map(([name, text]) => `${JSON.stringify(name)}:${text}`)}}`;
  });

const NO_STATUS = [
  '',
  'null',
  '[]',
  '<!doctype html><p>We are back soon',
  '{"PurchaseId":"another","State":2}',
  '{"error":"E17"}',
  '\ufeff{}',
  '{'.repeat(100_000),
  ' '.repeat(300_000),
];
const body = fc.oneof(
  { weight: 12, arbitrary: sometimesEdited(statusText, 12) },
  { weight: 1, arbitrary: fc.constantFrom(...NO_STATUS) },
  { weight: 1, arbitrary: hostileJson },
);

const GOOD_TOKEN = '{"access_token":"t1","token_type":"Bearer","expires_in":3600}';
const oddToken = fc
  .tuple(
    fc.constantFrom('"t1"', '"t\\r\\nx: 1"', '"\\u00e5"', '""', '7', `"${'t'.repeat(20_000)}"`),
    fc.oneof(fc.constantFrom('3600', '"3600"', '1', '0', '-1', '1e300', 'null'), hostileJson),
  )
  .map(([token, expires]) => `{"access_token":${token},"token_type":"Bearer","expires_in":${expires}}`);
const token = fc.oneof({ weight: 9, arbitrary: fc.constant(GOOD_TOKEN) }, { weight: 1, arbitrary: oddToken });

const isToken = ({ path }: Asked): boolean => path.endsWith('/oauth2/token');

/** The id that a request asks for, as it stands in JSON. */
function idOf({ body: text }: Asked): string {
  return /"PurchaseId":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? '';
}

const isAnchor = (asked: Asked): boolean => idOf(asked).startsWith(ANCHOR);

function statusOf(asked: Asked, state: number): string {
  return `{"PurchaseId":"${idOf(asked)}","State":${state},"Price":249.50,"CurrencyCode":"SEK"}`;
}

function withoutRest([name, value]: readonly [string, string]): readonly [string, string] {
  const isLong = name === 'retry-after' && (Number(value) > LONGEST_REST || Date.parse(value) > Date.now());
  return isLong ? [name, String(LONGEST_REST)] : [name, value];
}

/** Starts it. While it is calm every purchase is completed. */
export function startHostileService(seed: number): Promise<HostileServer> {
  const nextStatus = rowOf(wireAnswers(body, 9), seedOf(seed, 'status'));
  const nextToken = rowOf(wireAnswers(token, 9), seedOf(seed, 'token'));
  return startHostileServer(
    (asked) => {
      if (isAnchor(asked)) return null;
      const answer = isToken(asked) ? nextToken() : nextStatus();
      const headers = asked.path.includes(RESTING_SITE) ? answer.headers : answer.headers.map(withoutRest);
      return { ...answer, headers, body: answer.body.replace('{{id}}', () => idOf(asked)) };
    },
    (asked, isCalm) => (isToken(asked) ? GOOD_TOKEN : statusOf(asked, isAnchor(asked) && !isCalm ? 0 : 2)),
  );
}

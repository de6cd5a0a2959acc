/** Text, JSON and changes to them that programs have stumbled over. */
import fc from 'fast-check';
import { oddText } from '../api/generate.ts';

const nested = (depth: number, open: string, inner: string, close: string): string =>
  open.repeat(depth) + inner + close.repeat(depth);

/** The text of single JSON values; some are only almost JSON. */
const ODD_JSON = [
  'null',
  'true',
  '""',
  '" "',
  '[]',
  '{}',
  '[null]',
  '0',
  '-0',
  '-1',
  '1.5',
  '2.0',
  '2147483647',
  '2147483648',
  '-2147483648',
  '9007199254740993',
  '1e400',
  '-1e400',
  '1e-400',
  '1e131072',
  '1E+2',
  '9'.repeat(400),
  `0.${'3'.repeat(2_000)}`,
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u202e\\u2066\\u200b"',
  '"\\u001b]0;title\\u0007\\u001b[2J"',
  '"<!channel> <script>alert(1)</script> &amp; *_~`"',
  '"\\r\\nx-added: 1"',
  '"=cmd()|\'/c\'!A1"',
  '"%s%n%p $(jndi:ldap://127.0.0.1/) {{7*7}} $(id)"',
  '"2026-02-30T25:61:61"',
  '"0001-01-01T00:00:00"',
  '"9999-12-31T23:59:59.9999999"',
  '"2026-11-20T09:15:02.1234567+99:99"',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"a":1,"a":2}',
  'NaN',
  'Infinity',
  '01',
  "'x'",
  nested(60, '[', '', ']'),
  nested(900, '{"a":', '1', '}'),
  nested(5_000, '[', '', ']'),
  `"${'x'.repeat(201)}"`,
  `"${'å'.repeat(8_200)}"`,
  `"${'x'.repeat(70_000)}"`,
];

/** The text of one JSON value. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...ODD_JSON) },
  { weight: 3, arbitrary: oddText.map((text) => JSON.stringify(text)) },
  { weight: 2, arbitrary: fc.json({ maxDepth: 3 }) },
);

/** What a header can carry. */
export const hostileHeaderText: fc.Arbitrary<string> = fc
  .oneof(
    oddText,
    fc.constantFrom('gzip', 'bytes=0-', '127.0.0.1', 'http://evil.example', '*', 'null', ', ,', 'x'.repeat(7_000), 'for=1;by=2'),
  )
  .map((text) => text.replace(/[^\x20-\x7e]/g, '').trim());

/** One change at a place between 0 and 1 of a text. */
interface Edit {
  readonly at: number;
  readonly cut: number;
  readonly insert: string;
  readonly repeat: number;
}

const SEPARATORS = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\',
  '\n',
  '\0',
  '\ufeff',
  '\ud800',
  '${',
  '&a ',
  '*a',
  '!!x ',
  '- ',
  '\t',
  '#',
  '|',
];

/** Small damage to a text. */
export const edits: fc.Arbitrary<readonly Edit[]> = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(40)),
    insert: fc.oneof(fc.constant(''), fc.constantFrom(...SEPARATORS), hostileJson),
    repeat: fc.constantFrom(1, 1, 1, 2, 50),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The text with the damage done. */
export function edited(text: string, damage: readonly Edit[]): string {
  return damage.reduce((now, { at, cut, insert, repeat }) => {
    const place = Math.floor(at * now.length);
    const piece = insert.length > 100 ? insert : insert.repeat(repeat);
    return now.slice(0, place) + piece + now.slice(place + cut);
  }, text);
}

/** Mostly the text as it is, sometimes damaged. */
export function sometimesEdited(text: fc.Arbitrary<string>, share = 4): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: share, arbitrary: text },
    { weight: 1, arbitrary: fc.tuple(text, edits).map(([each, damage]) => edited(each, damage)) },
  );
}

/** Text for a report: long runs of one character, and what is long, cut short. */
export function brief(text: string, most = 800): string {
  const packed = text.replace(/(.)\1{30,}/gsu, (run, character) => `${character}×${run.length}`);
  return packed.length > most ? `${packed.slice(0, most)}…` : packed;
}

/** So many values, the same for a seed. */
export function sample<T>(arbitrary: fc.Arbitrary<T>, count: number, seed: number): T[] {
  return count <= 0 ? [] : fc.sample(arbitrary, { numRuns: count, seed });
}

/** Lets what else this process does go on. */
export const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A seed for a part of the run. */
export function seedOf(seed: number, ...parts: readonly (string | number)[]): number {
  let hash = seed | 0;
  for (const character of parts.join('/')) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  return hash;
}

import { expect, test } from 'vitest';
import { localTimeReader } from '../../src/checkout/local-time.ts';

const stockholm = localTimeReader('Europe/Stockholm');
const utc = (text: string) => Date.parse(text);

test.each([
  ['in winter', '2026-11-20T09:15:02.1234567', '2026-11-20T08:15:02.123Z', false],
  ['in summer', '2026-07-01T12:00:00', '2026-07-01T10:00:00Z', false],
  ['skipped in spring: moved on by the hour', '2026-03-29T02:30:00', '2026-03-29T01:30:00Z', true],
  ['told twice in autumn: the earlier', '2026-10-25T02:30:00.5', '2026-10-25T00:30:00.500Z', true],
  ['just after the hour told twice', '2026-10-25T03:00:00', '2026-10-25T02:00:00Z', false],
  ['with Z', '2026-07-01T12:00:00Z', '2026-07-01T12:00:00Z', false],
  ['with an offset', '2026-10-25T02:30:00+01:00', '2026-10-25T01:30:00Z', false],
])('a time %s', (_what, text, instant, ambiguous) => {
  expect(stockholm(text)).toEqual({ text, instant: utc(instant), ambiguous });
});

test.each([null, undefined, '0001-01-01T00:00:00', '0001-01-01T00:00:00.0000000', '0001-01-01T00:00:00Z'])(
  '%s is no time',
  (text) => {
    expect(stockholm(text)).toBeNull();
  },
);

test.each([
  '',
  'yesterday',
  '2026-11-20',
  '2026-11-20 09:15:02',
  '2026-13-01T00:00:00',
  '2026-02-30T00:00:00',
  '2026-11-20T09:15:02+0100',
  '2026-11-20T09:15:02[Europe/Paris]',
])('"%s" cannot be read and keeps its text', (text) => {
  expect(stockholm(text)).toEqual({ text, instant: null, ambiguous: false });
});

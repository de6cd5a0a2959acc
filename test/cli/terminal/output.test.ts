/** What comes from outside and is shown on a terminal does nothing there. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createScreen } from '../../../src/cli/listen/screen.ts';
import type { CliContext } from '../../../src/cli/terminal/context.ts';
import { harmlessJson, printable, printJson } from '../../../src/cli/terminal/output.ts';
import type { Taken } from '../../../src/receiver/receiver.ts';

/** A control of C1, the right-to-left mark, nothing of width zero, a line separator, and a mark beyond 16 bits. */
const MARKS = '\u009b\u202e\u200b\u2028\u{e0041}\u007f';
const WRITTEN = String.raw`\u009b\u202e\u200b\u2028\udb40\udc41\u007f`;

function output(isTTY: boolean) {
  let text = '';
  const stdout = new Writable({
    write: (chunk, _encoding, done) => {
      text += chunk;
      done();
    },
  });
  const context = { env: { NO_COLOR: '1' }, stdout, stderr: stdout, isTTY } as unknown as CliContext;
  return { context, text: () => text };
}

function taken(): Taken {
  const data = { site: MARKS, purchaseId: 'p', sequence: 1 };
  const body = { id: 'evt_1', type: 'purchase.stuck', data };
  const event = { id: 'evt_1', type: 'purchase.stuck', timestamp: null, data, text: JSON.stringify(body), body };
  const place = { time: 1, order: 'follows', before: null, wasTaken: false } as const;
  return { event, place, at: Date.UTC(2026, 10, 20), status: 200, why: null, failed: false };
}

test('controls and marks that nobody sees are written out, letters and emoji are not', () => {
  expect(printable(`a${MARKS}\n\u001bÅ🦊`)).toBe(String.raw`a${WRITTEN}\u000a\u001bÅ🦊`);
});

test('JSON means the same on a terminal, and is the same elsewhere', () => {
  const json = JSON.stringify({ a: `Å🦊${MARKS}` });
  const shown = harmlessJson(output(true).context, json);
  expect(shown).toBe(`{"a":"Å🦊${WRITTEN}"}`);
  expect(JSON.parse(shown)).toEqual(JSON.parse(json));
  expect(harmlessJson(output(false).context, json)).toBe(json);
  const { context, text } = output(true);
  printJson(context, MARKS);
  expect(text()).toBe(`"${WRITTEN}"\n`);
});

test.each([[{}], [{ full: true }], [{ json: true }]] as const)(
  'listen shows an event with %j and lets none of them through',
  (options) => {
    const { context, text } = output(true);
    createScreen(context, options).event(taken());
    expect(text()).toContain(WRITTEN);
    expect(text()).not.toMatch(/[\u007f-\u009f\u2028\p{Cf}]/u);
  },
);

test('listen --json gives programs the bytes that came', () => {
  const { context, text } = output(false);
  createScreen(context, { json: true }).event(taken());
  expect(text()).toBe(`${taken().event.text}\n`);
});

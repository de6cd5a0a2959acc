/** Tables fit the terminal, whatever is in them, and are whole where no terminal is. */
import { createInterface, type Interface } from 'node:readline';
import { PassThrough, Writable } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { textWidth } from '../../../src/cli/terminal/columns.ts';
import type { CliContext } from '../../../src/cli/terminal/context.ts';
import { printTable } from '../../../src/cli/terminal/table.ts';
import { run } from '../../../src/main.ts';

/** Node.js knows how wide texts are, and tells it by where its line editor has the cursor. */
const editor = createInterface({ input: new PassThrough(), output: new PassThrough().resume(), prompt: '', terminal: true });
afterAll(() => editor.close());
function widthInNode(text: string): number {
  Object.assign(editor as { -readonly [K in keyof Interface]: Interface[K] }, { line: text, cursor: text.length });
  const { rows, cols } = editor.getCursorPos();
  expect(rows).toBe(0);
  return cols;
}

function terminal(columns: number | undefined) {
  let text = '';
  const write = (chunk: string, _encoding: string, done: () => void) => {
    text += chunk;
    done();
  };
  const stdout = Object.assign(new Writable({ write }), { columns });
  return { stdout, isTTY: columns !== undefined, lines: () => text.trimEnd().split('\n') };
}

type Row = readonly (string | number | null)[];

function tableOn(columns: number | undefined, titles: readonly string[], rows: readonly Row[]): string[] {
  const { stdout, isTTY, lines } = terminal(columns);
  printTable({ env: { NO_COLOR: '1' }, stdout, isTTY } as unknown as CliContext, titles, rows);
  return lines();
}

const ID = '3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11';
const TITLES = ['delivery', 'subscriber', 'purchase', 'tries', 'trouble'];
const ROWS: readonly Row[] = [
  ['dlv_1', 'shop', ID, 3, 'the receiver answered 503 after two redirects to other hosts'],
  ['dlv_2', '注文サーバー', 'kort', 12, 'verbinding geweigerd 🦊🦊🦊, probeer het later opnieuw met een ander adres'],
  ['dlv_3', 'e\u0301te\u0301', null, 1, null],
];

describe('a table', () => {
  test('is whole where no terminal is, and where there is room', () => {
    const whole = tableOn(undefined, TITLES, ROWS);
    expect(whole.join('\n')).not.toContain('…');
    for (const text of ROWS.flat()) if (text !== null) expect(whole.join('\n')).toContain(String(text));
    expect(tableOn(200, TITLES, ROWS)).toEqual(whole);
    // A terminal that does not know its width.
    expect(tableOn(0, TITLES, ROWS)).toEqual(whole);
  });

  test('is never wider than the terminal', () => {
    for (let columns = 1; columns <= 160; columns += 1) {
      for (const line of tableOn(columns, TITLES, ROWS))
        expect(textWidth(line), `${columns}: ${line}`).toBeLessThanOrEqual(columns);
    }
  });

  test('cuts sentences first, ids that are copied last, and numbers hardly ever', () => {
    expect(tableOn(90, TITLES, ROWS)).toEqual([
      'delivery  subscriber    purchase                              tries  trouble',
      `dlv_1     shop          ${ID}      3  the receiver answere…`,
      'dlv_2     注文サーバー  kort                                     12  verbinding geweigerd…',
      'dlv_3     e\u0301te\u0301           -                                         1  -',
    ]);
    const narrow = tableOn(50, TITLES, ROWS);
    expect(narrow[1]).toMatch(/^dlv_1 {5}shop {5,}3f6b8a.*… {6}3 {2}.*…$/);
    expect(narrow[2]).toMatch(/^dlv_2 {5}注文サー… {2}kort .* 12 {2}v.*…$/);
  });

  test('of a command fits, too', async () => {
    const { stdout, isTTY, lines: written } = terminal(60);
    const env = { NO_COLOR: '1', DATA_DIR: '/a/long/path'.repeat(10) };
    expect(await run(['config'], { env, stdin: new PassThrough(), stdout, stderr: new PassThrough(), isTTY })).toBe(0);
    const lines = written().slice(0, written().indexOf(''));
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    expect(lines.find((line) => line.startsWith('DATA_DIR'))).toMatch(/^DATA_DIR +\/a\/long\/.*… +environ/);
  });
});

test('texts are as wide as Node.js measures them, but for a few signs that nobody types', () => {
  const wrong: string[] = [];
  let tried = 0;
  for (let code = 0x20; code < 0x3_0000; code += 1) {
    const character = String.fromCodePoint(code);
    if (/[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\u2028\u2029]/u.test(character)) continue;
    tried += 1;
    if (textWidth(`a${character}b`) !== widthInNode(`a${character}b`)) wrong.push(character);
  }
  expect(tried).toBeGreaterThan(140_000);
  expect(wrong.length).toBeLessThan(250);
  // What does appear in names and references: letters of any language, digits and emoji. Half a flag is in none.
  const common = wrong.filter((character) => /[\p{Letter}\p{Nd}\p{Emoji_Presentation}]/u.test(character));
  expect(common.filter((character) => !/\p{Regional_Indicator}/u.test(character))).toEqual([]);
  expect(textWidth('日本 🦊 é ①')).toBe(widthInNode('日本 🦊 é ①'));
  expect(textWidth('🇸🇪')).toBe(2);
});

/** Tables fit the terminal, whatever is in them, and are whole where no terminal is. */
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { CliContext } from '../../../src/cli/terminal/context.ts';
import { printTable } from '../../../src/cli/terminal/table.ts';
import { textWidth } from '../../../src/domain/values/text-width.ts';
import { run } from '../../../src/main.ts';

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

function tableOn(
  columns: number | undefined,
  titles: readonly string[],
  rows: readonly Row[],
  whole: readonly string[] = [],
): string[] {
  const { stdout, isTTY, lines } = terminal(columns);
  const cells = Object.fromEntries(titles.map((title, at) => [title, (row: Row) => row[at] ?? null]));
  printTable({ env: { NO_COLOR: '1' }, stdout, isTTY } as unknown as CliContext, rows, cells, { whole });
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

  test('is never wider than the terminal, unless that would cut what names its rows', () => {
    for (let columns = 45; columns <= 160; columns += 1) {
      for (const line of tableOn(columns, TITLES, ROWS))
        expect(textWidth(line), `${columns}: ${line}`).toBeLessThanOrEqual(columns);
    }
  });

  test.each([1, 20, 44])('writes its rows as facts where %i columns would cut what names them', (columns) => {
    const lines = tableOn(columns, TITLES, ROWS);
    expect(lines.filter((line) => line.startsWith('delivery'))).toEqual([
      'delivery    dlv_1',
      'delivery    dlv_2',
      'delivery    dlv_3',
    ]);
    expect(lines).toContain(`purchase    ${ID}`);
    expect(lines.join(' ').replaceAll(/ {2,}/g, ' ')).toContain('the receiver answered 503 after two redirects to other hosts');
  });

  test('keeps a column whole that says so, and writes rows as facts instead', () => {
    expect(tableOn(90, TITLES, ROWS, ['trouble'])[0]).toBe('delivery    dlv_1');
    expect(tableOn(90, TITLES, ROWS, ['purchase'])[0]).toMatch(/^delivery {2}subscriber/);
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

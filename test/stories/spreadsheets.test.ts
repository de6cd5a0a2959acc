/** Files as spreadsheets save them: `watch --file`, the console's paste and the batch take the ids alone, or refuse with line and cure. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { onDatabase } from '../cli/command.ts';
import { temporaryFile } from '../config/files.ts';
import { KEYS, OPERATOR } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let origin: string;
let cookie: string;
beforeAll(async () => {
  t = await startTestApp({ realClock: true, env: KEYS });
  await t.app.start();
  origin = t.app.url()!;
  const body = new URLSearchParams({ key: OPERATOR });
  const signedIn = await fetch(`${origin}/sign-in`, { method: 'POST', body, headers: { origin }, redirect: 'manual' });
  cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
});
afterAll(() => t?.stop());
beforeEach(async () => {
  const empty = async () => t.database.sql`truncate purchase_watch.purchases cascade`;
  // The daemon that runs beside it may hold a part of the tables and wait for another one.
  await empty().catch(empty);
});

const registered = async () =>
  (await t.database.sql`select purchase_id, reference from purchase_watch.purchases order by purchase_id`).map(
    ({ purchaseId, reference }) => (reference === null ? purchaseId : `${purchaseId}=${reference}`),
  );
const watchFile = (content: string | Buffer, name = 'orders.csv') =>
  onDatabase(t.database, ['watch', '--file', temporaryFile(content, name)]);
async function paste(lines: string): Promise<string> {
  const form = new URLSearchParams({ lines });
  const answer = await fetch(`${origin}/purchases/register`, { method: 'POST', body: form, headers: { origin, cookie } });
  expect([200, 400]).toContain(answer.status);
  const text = await answer.text();
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&').replaceAll('&lt;', '<');
}
const batch = async (ids: readonly string[]) =>
  (await (
    await fetch(`${origin}/v1/purchases/batch`, {
      method: 'POST',
      body: JSON.stringify({ purchases: ids.map((purchaseId) => ({ purchaseId })) }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${OPERATOR}` },
    })
  ).json()) as { created: number; rejected: { index: number; detail: string }[] };

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const TABLE = 'purchase_id,reference\na1,O1\nb2,O2\n';
const [IDS, ROWS] = [
  ['a1', 'b2'],
  ['a1=O1', 'b2=O2'],
];

describe('taken', () => {
  test.each<[string, string, string[]]>([
    ['line ends of old Macs', TABLE.replaceAll('\n', '\r'), ROWS],
    ['line ends of old Macs, ids alone', 'a1\rb2\r', IDS],
    ['line ends of three kinds', 'a1\rb2\r\nc3\nd4', ['a1', 'b2', 'c3', 'd4']],
    ['sep=;', `sep=;\r\n${TABLE.replaceAll(',', ';')}`, ROWS],
    ['"sep=;"', `"sep=;"\n${TABLE.replaceAll(',', ';')}`, ROWS],
    ['sep= with separators behind it', `sep=;;\n${TABLE.replaceAll(',', ';')}`, ROWS],
    ['sep=,', `sep=,\n${TABLE}`, ROWS],
    ['sep=|', `sep=|\n${TABLE.replaceAll(',', '|')}`, ROWS],
    ['sep=^', `SEP=^\n${TABLE.replaceAll(',', '^')}`, ROWS],
    ['sep= and a tab', `sep=\t\n${TABLE.replaceAll(',', '\t')}`, ROWS],
    ['sep= above ids alone', 'sep=;\na1\nb2\n', IDS],
    ...[';', '\t', '|', ':', ' ', ' | '].map((separator): [string, string, string[]] => [
      `separator ${JSON.stringify(separator)}`,
      TABLE.replaceAll(',', separator),
      ROWS,
    ]),
    ['empty rows', `,\n\n"",""\n${TABLE},\n;;\n " " , \nc3,O3\n`, [...ROWS, 'c3=O3']],
    [
      'invisible characters around cells',
      '\ufeff\u200bpurchase_id\u200b,reference\n\u200ba1\u00a0,\u202aO1\u202c\n\u2066b2\u2069,O2\n',
      ROWS,
    ],
    ['invisible characters around ids', '\u200ba1\u00ad\n\u00a0b2\u200e\n', IDS],
    ...['Purchase ID', 'PURCHASE-ID', 'purchaseid', ' Purchase_Id ', '"purchase id"', 'Purchase.Id'].map(
      (title): [string, string, string[]] => [`the header ${title}`, `${title},REFERENCE\na1,O1\nb2,O2\n`, ROWS],
    ),
    ['quoted ids alone', '"a1"\n"b2"\n', IDS],
  ])('%s', async (_, text, ids) => {
    const result = await watchFile(text);
    expect([result.exitCode, result.stderr, await registered()]).toEqual([0, '', ids]);
    await t.database.sql`truncate purchase_watch.purchases cascade`;
    const page = await paste(text);
    expect([/(\d+) bad line/.exec(page)?.[0], await registered()]).toEqual(['0 bad line', ids]);
  });

  test.each<[string, Buffer]>([
    ['UTF-8 with a mark', Buffer.from(`\ufeff${TABLE}`)],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${TABLE}`, 'utf16le')],
    ['UTF-16 with a mark, the other way round', utf16be(`\ufeff${TABLE}`)],
    ['UTF-16 without a mark', Buffer.from(TABLE, 'utf16le')],
    ['UTF-16 without a mark, the other way round', utf16be(TABLE)],
    ['UTF-16 without a mark, with words of another script', utf16be(`purchase_id,reference,имя\na1,O1,Иван\nb2,O2,Мария\n`)],
    [
      'UTF-16 with tabs and line ends of old Macs',
      Buffer.from(`\ufeff${TABLE.replaceAll(',', '\t').replaceAll('\n', '\r')}`, 'utf16le'),
    ],
  ])('%s', async (_, bytes) => {
    expect([(await watchFile(bytes)).exitCode, await registered()]).toEqual([0, ROWS]);
  });

  test('a file that is larger than the parts it is read in, whatever its line ends and encoding', async () => {
    const ids = Array.from({ length: 9_000 }, (_, index) => `id-${index}-ö`);
    for (const [end, encoding] of [
      ['\r\n', 'utf8'],
      ['\r', 'utf8'],
      ['\r\n', 'utf16le'],
    ] as const) {
      await t.database.sql`truncate purchase_watch.purchases cascade`;
      const { stdout } = await watchFile(Buffer.from(`\ufeffpurchase_id${end}${ids.join(end)}`, encoding));
      expect(stdout).toContain('9 000 new');
      const [found] = await t.database
        .sql`select count(*)::int as n from purchase_watch.purchases where purchase_id ~ '^id-[0-9]+-ö$'`;
      expect(found!.n).toBe(9_000);
    }
  });
});

describe('refused as a whole, with the line and the cure', () => {
  test.each<[string, string, string]>([
    [
      'a title above the header',
      `Orders of November\n\n${TABLE}`,
      'line 1: "Orders of November" is above the header in line 3; delete the lines above the header',
    ],
    ['a title of one word', `Q4-2026\n${TABLE}`, 'line 1: "Q4-2026" is above the header in line 2'],
    [
      'a title above a header in another language',
      'Q4-2026\nKauf-ID;Referenz\na1;O1\n',
      'line 1: "Q4-2026" looks like a header; it must be purchase_id',
    ],
    [
      'a header in another language',
      'Köp-ID;Referens\na1;O1\nb2;O2\n',
      'line 1: "Köp-ID;Referens" has several columns, and none is named purchase_id; begin with a header',
    ],
    [
      'empty rows and a header in another language',
      ',\n,\nKöp-ID,Referens\na1,O1\n',
      'line 3: "Köp-ID,Referens" has several columns',
    ],
    ...['Ostotunnus', 'Kauf-ID', 'ID', 'Order ID', 'Заказ'].map((title): [string, string, string] => [
      `the header ${title}`,
      `${title}\na1\nb2\n`,
      `line 1: "${title}" ${title.includes(' ') ? 'has several columns' : 'looks like a header; it must be purchase_id'}`,
    ]),
    [
      'sep= above a header in another language',
      'sep=;\nKauf-ID;Referenz\na1;O1\n',
      'line 2: "Kauf-ID;Referenz" has several columns',
    ],
    ['a header with a line end in a cell', 'purchase_id,"order\nnumber"\na1,O1\n', 'line 1: "purchase_id,"'],
    ['HTML', '<html><table><tr><td>a1</td></tr></table>', 'the file is HTML or XML; open it in a spreadsheet'],
    ['nothing but a header', 'purchase_id,reference\n', 'holds no purchase IDs'],
  ])('%s', async (_, text, problem) => {
    const { exitCode, stderr } = await watchFile(text);
    expect(stderr.replaceAll('\\"', '"')).toContain(problem);
    expect(exitCode).toBeGreaterThan(0);
    expect((await paste(text)).replaceAll('\\"', '"')).toContain(problem);
    expect(await registered()).toEqual([]);
  });

  test.each(['504b03041400060008000000', 'd0cf11e0a1b11ae1000000'])('a workbook (%s…)', async (bytes) => {
    const { exitCode, stderr } = await watchFile(Buffer.from(`${bytes}0d0a610d0a`, 'hex'), 'orders.xlsx');
    expect([exitCode, stderr]).toEqual([2, 'error: the file is a workbook; save it as "CSV UTF-8", and give that file\n']);
    expect(await registered()).toEqual([]);
  });
});

describe('refused line after line', () => {
  test.each<[string, string, string]>([
    ['a rounded number', '1.23E+15', 'is a number that a spreadsheet rounded'],
    ['a rounded number of other countries', '1,23E+15', 'is a number that a spreadsheet rounded'],
    ['an error of a spreadsheet', '#N/A', 'is what a spreadsheet shows in the place of a value'],
    ['another error', '#REF!', 'is what a spreadsheet shows in the place of a value'],
    ['curved quotation marks', '“x1”', 'begins or ends with a quotation mark'],
    ['the apostrophe for text', "'x1", 'begins or ends with a quotation mark'],
    ['an invisible character inside', 'x\u200b1', 'holds a character that cannot be seen (U+200B)'],
    ['a soft hyphen inside', 'x\u00ad1', 'holds a character that cannot be seen (U+00AD)'],
    ['a column title', 'purchase_id', 'is the title of a column'],
    ['a row', 'x1|O1', 'separator of columns'],
    ['sep=;', 'sep=;', 'separator of columns'],
  ])('%s', async (_, id, problem) => {
    const csv = `purchase_id,reference\na1,O1\n"${id}",O3\nb2,O2\n`;
    const { exitCode, stderr } = await watchFile(csv);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^line 3: the purchase ID /)]);
    expect(stderr).toContain(problem);
    expect(await registered()).toEqual(ROWS);
    await t.database.sql`truncate purchase_watch.purchases cascade`;
    expect(await paste(csv)).toContain(problem);
    expect(await registered()).toEqual(ROWS);
    await t.database.sql`truncate purchase_watch.purchases cascade`;
    const answer = await batch(['a1', id, 'b2']);
    expect(answer).toMatchObject({ created: 2, rejected: [{ index: 1, detail: expect.stringContaining(problem) }] });
    expect(await registered()).toEqual(IDS);
  });

  test.each<[string, string, string, string[]]>([
    [
      'a line end in a cell without quotation marks',
      `${TABLE}c3,first\nsecond\n`,
      'has 1 cell, and the header names 2',
      [...ROWS, 'c3=first'],
    ],
    ['a line end in an id', `${TABLE}c3\nd4,O4\n`, 'has 1 cell, and the header names 2', [...ROWS, 'd4=O4']],
    ['another separator below', 'purchase_id;reference\na1;O1\nb2;O2\nc3|O3\n', 'has 1 cell, and the header names 2', ROWS],
    ['a table below ids', 'a1\nb2\nc3,O3\nd4|O4\ne5 O5\n', 'has several columns, and the first line has one', IDS],
    ['JSON below ids', 'a1\n{"purchaseId":"c3"}\nb2\n', 'is JSON, and the lines before it are not', IDS],
  ])('%s', async (_, text, problem, ids) => {
    const { exitCode, stderr } = await watchFile(text);
    expect([exitCode, stderr, await registered()]).toEqual([1, expect.stringContaining(problem), ids]);
    await t.database.sql`truncate purchase_watch.purchases cascade`;
    expect(await paste(text)).toContain(problem);
    expect(await registered()).toEqual(ids);
  });

  test('pasted rows without a header have as many cells as the first of them', async () => {
    expect(await paste('a1,default,O1\nb2,,O2\nhalf\n')).toContain('has 1 cell, and the first line has 3');
    expect(await registered()).toEqual(ROWS);
    expect(await paste('Kauf-ID,Laden,Referenz\nc3,default,O3\n')).toContain(
      'has several columns, and none is named purchase_id',
    );
    expect(await registered()).toEqual(ROWS);
  });

  test('bad lines come back to the form below their header, whatever the line ends were', async () => {
    const page = await paste('sep=;\rpurchase_id;reference\ra1;O1\r#N/A;O2\r');
    expect(page).toContain('>\nsep=;\npurchase_id;reference\n#N/A;O2</textarea>');
  });
});

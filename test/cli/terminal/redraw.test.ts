/** `status --watch` on a terminal. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestDatabase } from '../../support/database.ts';
import { databaseOf } from '../command.ts';
import { followCommand, runCommand } from '../run.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await databaseOf('se');
});
afterAll(() => database.drop());
const environment = () => ({ DATABASE_URL: database.url, NO_COLOR: '1' });

/** The pictures so far, each from the terminal's upper left on. */
const pictures = (written: string): string[] => written.split('\x1b[H').slice(1);

test('shows what is new in the place of what was, cut to the height of the terminal, until a signal', async () => {
  const watching = followCommand(['status', '--watch'], environment(), { rows: 12, columns: 70 });
  await expect.poll(() => pictures(watching.stdout()).length).toBeGreaterThan(0);
  expect(pictures(watching.stdout())[0]).toContain('No purchases yet.');
  await database.sql`insert into purchase_watch.purchases (purchase_id, site) values ('p-1', 'se')`;
  await expect.poll(() => pictures(watching.stdout()).at(-1), { timeout: 30_000 }).toContain('no answer has come yet');
  expect(await watching.stop()).toBe(0);
  for (const picture of pictures(watching.stdout())) {
    const lines = picture.replace('\x1b[J', '').trimEnd().split('\n');
    expect(lines.length).toBeLessThan(12);
    expect(lines.filter((line) => !line.endsWith('\x1b[K'))).toEqual([]);
  }
});

test.each([
  [['status', '--watch'], /--watch: only on a terminal/],
  [['status', '--watch', '--json'], /--watch: not with --json/],
])('%j is refused where nobody would see it, and why', async (argv, why) => {
  const { exitCode, stdout, stderr } = await runCommand(argv, environment());
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toMatch(why);
});

/** The demo in a terminal of 80×24, from its start to its end, and its keys. */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, expect, test } from 'vitest';
import { openTerminal, type TerminalOptions, type TestTerminal } from '../../support/terminal.ts';

const BIN = fileURLToPath(new URL('../../../bin/purchase-watch.mjs', import.meta.url));
const FOLDER = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-screen-'));
// When the tests run as root, the server's user must be able to enter.
chmodSync(FOLDER, 0o755);
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));
/** There while a demo runs. */
const RUNNING = join(FOLDER, '.purchase-watch/demo/running');
const WITHIN = { timeout: 180_000, interval: 100 };

let open: TestTerminal | undefined;
// A test that failed leaves its demo running, and a folder has one demo.
afterEach(async () => {
  open?.hangUp();
  await open?.ended;
  open = undefined;
});
const inTerminal: typeof openTerminal = (...parts) => {
  open = openTerminal(...parts);
  return open;
};

/** The shell says afterwards how the demo left the terminal. */
const demoIn = (options: TerminalOptions, ...flags: string[]): TestTerminal =>
  inTerminal(['sh', '-c', '"$0" "$@"; echo "code $?"; stty -a', process.execPath, BIN, 'demo', ...flags], {
    cwd: FOLDER,
    ...options,
  });

/** All that is left on the terminal once the demo has ended. */
function leftOn({ emulator, isCursorHidden }: TestTerminal): string {
  const { active } = emulator.buffer;
  expect([active.type, emulator.modes.wraparoundMode, isCursorHidden()]).toEqual(['normal', true, false]);
  const lines = Array.from({ length: active.length }, (_, at) => active.getLine(at)!);
  expect(lines.filter(({ isWrapped }) => isWrapped).map((line) => line.translateToString())).toEqual([]);
  const text = lines.map((line) => line.translateToString(true)).join('\n');
  expect(text).toMatch(/code 0\n.* icanon .* echo /s);
  return text;
}

test('each chapter and each message of Slack stands on five screens a second apart', { timeout: 400_000 }, async () => {
  // The head's clock says which second a screen belongs to, however quickly this test reads the screens.
  const seconds = new Map<string, Set<string>>();
  const ids = new Set<string>();
  let wrong: readonly string[] | null = null;
  const terminal = demoIn(
    {
      onScreen: (lines) => {
        const clock = /^purchase-watch {2}http:.* (\d+:\d\d)$/.exec(lines[0]!)?.[1];
        if (clock === undefined || terminal.emulator.buffer.active.type !== 'alternate') return;
        const titles = [lines[3]!, ...lines.filter((_, at) => lines[at - 1]?.startsWith('┌─ Slack'))];
        for (const title of titles) seconds.set(title, (seconds.get(title) ?? new Set()).add(clock));
        for (const line of lines) if (line.startsWith('✓')) ids.add(line.slice(-36));
        const card = lines.findIndex((line) => line.startsWith('┌─ Slack'));
        const cardEnd = lines.findIndex((line) => line.startsWith('└─'));
        if (!/^space pause .* q end$/.test(lines[23]!) || (card >= 0 && cardEnd - card > 11)) wrong = lines;
      },
    },
    '--once',
  );
  expect(await terminal.ended).toBe(0);
  const text = leftOn(terminal);
  expect(text).toMatch(/\d+ webhooks: changes.*Every signature was good/s);
  expect(wrong).toBeNull();
  const chapters = [...seconds.keys()].flatMap((title) => /^(\d) {2}\S/.exec(title)?.[1] ?? []);
  expect(chapters.join('')).toBe('123456');
  const messages = [...seconds.keys()].flatMap((title) => /^│ (\S+ [\w-]+):/u.exec(title)?.[1] ?? []);
  expect(messages).toEqual(['🟠 demo-fi', '✅ demo-fi', expect.stringMatching(/^(?:🔴|🟠) demo-se$/u), '✅ demo-se']);
  expect([...seconds].filter(([, { size }]) => size < 5)).toEqual([]);
  expect([...ids].filter((id) => !/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id))).toEqual([]);
  expect(ids.size).toBeGreaterThan(50);
});

test('keys pause, break, kill and end, and the screen follows the size of the terminal', { timeout: 400_000 }, async () => {
  const terminal = demoIn({ env: { NO_COLOR: '1' } });
  const { lines, press, resize } = terminal;
  const head = (): string => lines()[0]!;
  const shows = (text: string | RegExp) => expect.poll(() => lines().join('\n'), WITHIN).toMatch(text);
  await shows(/^1 {2}Customers shop$/m);
  await shows(/^✓ /m);
  press(' ');
  await shows(/paused {2}\d:\d\d$/m);
  const paused = lines();
  await expect
    .poll(() =>
      fetch('http://127.0.0.1:8090/control/settings').then(
        ({ ok }) => ok,
        () => true,
      ),
    )
    .toBe(true);
  expect(lines()).toEqual(paused);
  resize(120, 40);
  await expect.poll(() => lines()[39], WITHIN).toMatch(/^space go on .* q end$/);
  expect(head()).toHaveLength(120);
  resize(80, 24);
  await expect.poll(lines, WITHIN).toEqual(paused);

  press('b');
  await shows(/broken: card page {2}.*\d:\d\d$/m);
  await shows(/^The card page of demo-se is broken$/m);
  await shows(/^✓ a first customer has waited/m);
  press('k');
  await shows(/broken: card page, daemon/);
  await shows(/^The daemon is dead$/m);
  press('r');
  await shows(/broken: card page, daemon, receiver/);
  press('k');
  await shows(/broken: card page, receiver/);
  press('rf');
  await expect.poll(head, WITHIN).not.toContain('broken');
  await shows(/^The card page of demo-se was mended$/m);
  press('t');
  // The commands give way to Slack's messages.
  await shows(/^ {2}npx purchase-watch watch try-command-\w+ --site demo-se$/m);
  press('t');
  await shows(/ t try /);
  expect(lines().join('\n')).not.toContain('npx purchase-watch');
  press('q');
  expect(await terminal.ended).toBe(0);
  expect(leftOn(terminal)).toContain('Stopped. The data stays in .purchase-watch/demo');
});

test('a terminal that is closed ends the demo in order', { timeout: 400_000 }, async () => {
  const terminal = inTerminal([process.execPath, BIN, 'demo'], { cwd: FOLDER });
  await expect.poll(() => terminal.lines().join('\n'), WITHIN).toMatch(/^✓ /m);
  expect(existsSync(RUNNING)).toBe(true);
  terminal.hangUp();
  expect(await terminal.ended).toBe(0);
  expect(existsSync(RUNNING)).toBe(false);
});

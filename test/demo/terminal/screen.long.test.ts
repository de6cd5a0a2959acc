/** The demo in a terminal of 80×24, from its start to its end, and its keys. */
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type TestContext, test } from 'vitest';
import { openTerminal, type TerminalOptions, type TestTerminal } from '../../support/terminal.ts';

const BIN = fileURLToPath(new URL('../../../bin/purchase-watch.mjs', import.meta.url));
const WITHIN = { timeout: 180_000, interval: 100 };

/** Demos look for free ports one after the other: two that look at the same moment would find the same ones. */
let before: Promise<unknown> = Promise.resolve();

/** A folder for a demo, which has one at a time, and a terminal in it; a test that fails leaves neither. */
function demoFolder({ onTestFinished }: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-demo-screen-'));
  // When the tests run as root, the server's user must be able to enter.
  chmodSync(folder, 0o755);
  const inTerminal = async (command: readonly string[], options: TerminalOptions = {}): Promise<TestTerminal> => {
    const itsTurn = before;
    const up = Promise.withResolvers<void>();
    before = up.promise;
    await itsTurn;
    const onScreen = (lines: readonly string[]): void => {
      if (/^purchase-watch {2}http:/.test(lines[0]!)) up.resolve();
      options.onScreen?.(lines);
    };
    const terminal = openTerminal(command, { cwd: folder, ...options, onScreen });
    onTestFinished(async () => {
      up.resolve();
      terminal.hangUp();
      await terminal.ended;
      rmSync(folder, { recursive: true, force: true });
    });
    return terminal;
  };
  return { folder, inTerminal };
}

/** The shell says afterwards how the demo left the terminal. */
const demoIn = (context: TestContext, options: TerminalOptions, ...flags: string[]): Promise<TestTerminal> =>
  demoFolder(context).inTerminal(
    ['sh', '-c', '"$0" "$@"; echo "code $?"; stty -a', process.execPath, BIN, 'demo', ...flags],
    options,
  );

/** All that is left on the terminal once the demo has ended. */
function leftOn({ emulator, isCursorHidden }: TestTerminal, { expect }: TestContext): string {
  const { active } = emulator.buffer;
  expect([active.type, emulator.modes.wraparoundMode, isCursorHidden()]).toEqual(['normal', true, false]);
  const lines = Array.from({ length: active.length }, (_, at) => active.getLine(at)!);
  expect(lines.filter(({ isWrapped }) => isWrapped).map((line) => line.translateToString())).toEqual([]);
  const text = lines.map((line) => line.translateToString(true)).join('\n');
  expect(text).toMatch(/code 0\n.* icanon .* echo /s);
  return text;
}

test.concurrent('each chapter and each message of Slack stands on five screens a second apart', {
  timeout: 400_000,
}, async (context) => {
  const { expect } = context;
  // The head's clock says which second a screen belongs to, however quickly this test reads the screens.
  const seconds = new Map<string, Set<string>>();
  const ids = new Set<string>();
  let wrong: readonly string[] | null = null;
  const terminal = await demoIn(
    context,
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
  const text = leftOn(terminal, context);
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

test.concurrent('keys pause, break, kill and end, and the screen follows the size of the terminal', {
  timeout: 400_000,
}, async (context) => {
  const { expect } = context;
  const terminal = await demoIn(context, { env: { NO_COLOR: '1' } });
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
  expect(leftOn(terminal, context)).toContain('Stopped. The data stays in .purchase-watch/demo');
});

test.concurrent('a terminal that is closed ends the demo in order', { timeout: 400_000 }, async (context) => {
  const { expect } = context;
  const { folder, inTerminal } = demoFolder(context);
  /** There while a demo runs. */
  const running = join(folder, '.purchase-watch/demo/running');
  const terminal = await inTerminal([process.execPath, BIN, 'demo']);
  await expect.poll(() => terminal.lines().join('\n'), WITHIN).toMatch(/^✓ /m);
  expect(existsSync(running)).toBe(true);
  terminal.hangUp();
  expect(await terminal.ended).toBe(0);
  expect(existsSync(running)).toBe(false);
});

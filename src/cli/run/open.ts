/** `open`: the console in a browser. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { request } from 'undici';
import { loadSettings } from '../../config/load-settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { delay, timeoutSignal } from '../../runtime/time.ts';
import { declare } from '../terminal/command.ts';
import { printLine, printRemark } from '../terminal/output.ts';
import { addressOf, linkOf } from './address.ts';

/** A daemon on this machine answers at once. */
const PATIENCE: Milliseconds = 3_000;
/** Some openers end when they have handed the address on, others with the browser. */
const HANDED_ON: Milliseconds = 2_000;

export const register = declare(
  {
    description:
      'Opens the console in a browser, and prints its address: CONSOLE_URL, or HOST and PORT. Without API_KEY the address is a link that signs one browser in: it works once, within ten minutes, and is made with the key in DATA_DIR. Where no browser can be opened, only prints the address.',
    options: [['--print', 'only print the address']],
    examples: [
      ['open', 'the console of the daemon on this machine'],
      ['open --print', 'for a program, or a browser elsewhere'],
    ],
  },
  async (context, { print }) => {
    const settings = loadSettings(context.env);
    const address = addressOf(settings);
    const link = linkOf(settings, address);
    const origin = settings.consoleUrl === null ? 'HOST and PORT' : 'CONSOLE_URL';
    // Not among the results: the address may be read by a program.
    printRemark(
      context,
      `The address comes from ${origin} in the settings of this terminal; a daemon with other settings has another one.`,
    );
    if (link !== null) printRemark(context, 'The link works once, within ten minutes; then the browser is signed in.');
    else if (settings.apiKeys.length === 0)
      printRemark(
        context,
        `There is no link: no daemon without API_KEY has kept its key in ${resolve(settings.dataDir)} yet; name the daemon's folder with DATA_DIR.`,
      );
    if (!print && settings.consoleUrl === null) await requireDaemon(address);
    printLine(context, link ?? address);
    if (!print && !(await openedBrowser(context.env, link ?? address))) {
      printRemark(context, 'No browser could be opened here: open the address yourself.');
    }
  },
);

async function requireDaemon(address: string): Promise<void> {
  try {
    const { body } = await request(address, { signal: timeoutSignal(PATIENCE) });
    await body.dump();
  } catch (cause) {
    const advice = 'run "purchase-watch start" first, or name the console\'s address with CONSOLE_URL';
    const { code, name } = cause as { readonly code?: unknown; readonly name?: unknown };
    throw new AppError('unavailable', `nothing answers at ${address} (${code ?? name}): ${advice}`, { cause });
  }
}

/** The variables by which an opener finds the desktop and the browser. */
const DESKTOP =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TMPDIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|BROWSER|DESKTOP_SESSION|DBUS_SESSION_BUS_ADDRESS|LC_\w+|XDG_\w+|KDE_\w+|GNOME_\w+|WSL\w*)$/;

/** The environment for an opener: the browser that it starts lives on, and must hold no secret of the settings. */
function desktopOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => DESKTOP.test(name)));
}

/** Whether a browser was given the address. */
async function openedBrowser(env: NodeJS.ProcessEnv, address: string): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  // Without a display xdg-open tries browsers for text, which would take the terminal.
  if (!isMac && !env.DISPLAY && !env.WAYLAND_DISPLAY && !env.BROWSER) return false;
  const opener = spawn(isMac ? 'open' : 'xdg-open', [address], { env: desktopOf(env), stdio: 'ignore', detached: true });
  const ended = new Promise<boolean>((tell) => {
    opener.once('error', () => tell(false)).once('exit', (code) => tell(code === 0));
  });
  const waiting = new AbortController();
  const handedOn = delay(HANDED_ON, true, { signal: waiting.signal }).catch(() => true);
  try {
    return await Promise.race([ended, handedOn]);
  } finally {
    waiting.abort();
    opener.unref();
  }
}

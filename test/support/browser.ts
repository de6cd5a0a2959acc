/** A real Chromium for tests of pages: that of the system, or the one that CHROMIUM_PATH names. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { linkAt } from './machine.ts';

const PATHS = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** Without them, a browser looks for updates and names of its maker's hosts, which fail here and take time. */
const QUIET = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Starts a browser; its caller closes it. Throws when there is none, with what to install. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) {
    throw new Error('tests of the console need Chromium: install the package chromium, or name one in CHROMIUM_PATH');
  }
  return chromium.launch({ executablePath, args: QUIET });
}

/** What a page must not do: print errors, or ask another host. Read it at the end of a test. */
/** Script for a page that scrolls sideways: the innermost elements that end beyond the window. */
export const TOO_WIDE = `[...document.body.querySelectorAll('*')]
  .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .filter((each, _, all) => !all.some((other) => other !== each && each.contains(other)))
  .slice(0, 5).map((each) => each.outerHTML.slice(0, 120) + ' in ' + each.parentElement.outerHTML.slice(0, 80)).join('; ')`;

export interface Misdeeds {
  readonly found: string[];
}

/** Opens a page of which misdeeds are noted. */
export async function openPage(
  browser: Browser,
  { origin, ...options }: { readonly origin: string } & Parameters<Browser['newContext']>[0],
): Promise<{ page: Page; context: BrowserContext; misdeeds: Misdeeds }> {
  // What moves is drawn by the processor here, and takes it from the rest of the test.
  const context = await browser.newContext({ baseURL: origin, reducedMotion: 'reduce', ...options });
  const page = await context.newPage();
  const found: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') found.push(message.text());
  });
  page.on('pageerror', (error) => found.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) found.push(`asked ${request.url()}`);
  });
  return { page, context, misdeeds: { found } };
}

/** Opens a page of a daemon without keys, as a person who came by a one-time link. */
export async function openByLink(...args: Parameters<typeof openPage>): ReturnType<typeof openPage> {
  const opened = await openPage(...args);
  await opened.page.goto(linkAt(args[1].origin));
  return opened;
}

/** Keys for a daemon with `env: KEYS`: one may change things, one only look. */
export const OPERATOR = 'operator-key-0123456789abcdef0123456789';
export const READER = 'reader-key-0123456789abcdef0123456789abc';
export const KEYS = { API_KEY: OPERATOR, API_READ_KEY: READER };

/** Opens the console's page at a path as a person who signs in with a key; the caller closes its context. */
export async function openSignedIn(
  browser: Browser,
  { key, to, ...options }: { readonly key: string; readonly to: string } & Parameters<typeof openPage>[1],
): ReturnType<typeof openPage> {
  const opened = await openPage(browser, options);
  await opened.page.goto(`/sign-in?to=${encodeURIComponent(to)}`);
  await opened.page.getByLabel('Key of the API').fill(key);
  await opened.page.getByRole('button', { name: 'Sign in' }).click();
  await opened.page.waitForURL(`${options.origin}${to}`);
  return opened;
}

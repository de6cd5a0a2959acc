/**
 * Pages of the demo in a browser: the daemon's console, with a bar of switches above it, and with Slack and the shop beside it.
 * The daemon knows nothing of the demo, so all of this works while the daemon is dead.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Hono, type MiddlewareHandler } from 'hono';
import { proxy } from 'hono/proxy';
import { guardKeyless } from '../../api/access/access.ts';
import { problemFrom, problemResponse } from '../../api/http/problems.ts';
import { serveApi } from '../../api/http/serve.ts';
import { themeOf, zoneOf } from '../../console/access/cookies.ts';
import { serveAsset } from '../../console/frame/assets.ts';
import { type Html, html, trusted } from '../../console/frame/html.ts';
import { documentOf } from '../../console/frame/page.ts';
import { below } from '../../console/frame/request.ts';
import { inZone } from '../../console/parts/time.ts';
import { PACKAGE_FOLDER } from '../../runtime/process/package-folder.ts';
import { wall } from '../../runtime/time.ts';
import { barOf, SWITCH_PATH } from './bar.ts';
import type { Board } from './board.ts';
import { type SideParts, sideOf } from './side.ts';

interface FrontParts {
  readonly port: number;
  /** Where the daemon listens. */
  daemonUrl(): string;
  readonly board: Board;
  /** The panels of Slack and of the shop beside the pages. */
  side(): SideParts;
  /** Whether the terminal's story still runs. */
  isStory(): boolean;
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};
/** The time zone of the demo's sites: the preset. */
const USUAL_ZONE = 'Europe/Stockholm';
const ASSETS = join(PACKAGE_FOLDER, 'assets');
const STYLES = '/demo/demo.css';
const SCRIPT = '/demo/demo.js';
/** The daemon does not serve these. */
const FILES = [
  { path: STYLES, type: 'text/css; charset=utf-8', text: readFileSync(join(ASSETS, 'demo.css'), 'utf8') },
  { path: SCRIPT, type: 'text/javascript; charset=utf-8', text: readFileSync(join(ASSETS, 'demo.js'), 'utf8') },
];
const HEAD = `<link rel="stylesheet" href="${STYLES}">\n<script src="${SCRIPT}" defer></script>\n</head>`;

/** Listens on this machine. */
export async function openFront({ port, daemonUrl, board, side, isStory }: FrontParts) {
  const app = new Hono();
  const bar = async (back: string): Promise<string> =>
    String(await barOf(board, { back: below(back), now: wall(), isStory: isStory() }));
  const beside = async (): Promise<string> => String(await sideOf(side()));
  app.use(guardKeyless([]) as MiddlewareHandler);
  app.use((c, next) => inZone(zoneOf(c, USUAL_ZONE), next));
  app.get('/assets/*', serveAsset);
  for (const { path, type, text } of FILES) app.get(path, (c) => c.body(text, 200, { 'content-type': type }));
  // An open page asks for this each second.
  app.get('/demo/now', async (c) => {
    const runs = board.facts().overview === null ? 'no' : 'yes';
    return c.html((await bar(c.req.query('back') ?? '/')) + (await beside()), 200, { ...HEADERS, 'demo-daemon-answers': runs });
  });
  app.post(SWITCH_PATH, async (c) => {
    const { turn = '', back = '/' } = (await c.req.parseBody()) as Record<string, string>;
    const [name = '', to] = turn.split(':');
    // A daemon that does not start says so in its log, and stays dead on the button.
    await board.turn(name, to === 'on').catch(() => undefined);
    return c.redirect(below(back), 303);
  });
  app.all('*', async (c) => {
    const { pathname, search, origin: own } = new URL(c.req.url);
    const origin = daemonUrl();
    const asked = c.req.header('origin') === own ? { origin } : {};
    const headers = { ...c.req.header(), host: undefined, ...asked, 'accept-encoding': 'identity' };
    const answer = await proxy(origin + pathname + search, { ...c.req, raw: c.req.raw, headers, redirect: 'manual' }).catch(
      () => null,
    );
    const back = c.req.method === 'GET' ? pathname + search : '/';
    const isPage = answer?.headers.get('content-type')?.startsWith('text/html') ?? false;
    // While the daemon starts, it answers with a problem instead of a page.
    const isStarting = !isPage && answer?.status === 503 && c.req.header('accept')?.includes('text/html');
    if (answer === null || isStarting) {
      await answer?.body?.cancel();
      const page = await documentOf({ title: 'No daemon', base: '', theme: themeOf(c) }, away(await bar(back), back));
      return c.html(withDemo(String(page), '', await beside()), 503, HEADERS);
    }
    if (!isPage) return quiet(answer);
    const responseHeaders = new Headers(answer.headers);
    responseHeaders.delete('content-length');
    const page = withDemo(await answer.text(), await bar(back), await beside());
    return new Response(page, { status: answer.status, headers: responseHeaders });
  });
  app.onError((error) => problemResponse(problemFrom(error)));
  return serveApi(app, { host: '127.0.0.1', port });
}

/** An answer that ends where the daemon or the browser breaks it off, which is no fault of the demo. */
function quiet({ body, status, headers }: Response): Response {
  if (body === null) return new Response(null, { status, headers });
  const reader = body.getReader();
  const passed = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel().catch(() => undefined),
  });
  return new Response(passed, { status, headers });
}

/** A page of the console with the bar before its frame, and with what stands beside at the frame's end. */
function withDemo(text: string, above: string, beside: string): string {
  const page = text.replace('</head>', () => HEAD);
  const at = page.indexOf('<div class="app"');
  const end = page.lastIndexOf('</main>') + '</main>'.length;
  if (at < 0 || end < at) return page;
  return page.slice(0, at) + above + page.slice(at, end) + beside + page.slice(end);
}

/** Instead of a page, while the daemon is dead. */
function away(above: string, path: string): Html {
  return html`${trusted(above)}<div class="app" id="demo-away"><main class="main" id="main"><h1 class="say">The daemon does not run</h1>
<p class="sub">Its data is safe: what changes meanwhile is found once it is started again, and what waits is delivered then.</p>
<form method="post" action="${SWITCH_PATH}" class="acts"><input type="hidden" name="back" value="${path}"><button class="btn first" name="turn" value="daemon:off">Start the daemon</button><a class="btn" href="${path}">Look again</a></form></main></div>`;
}

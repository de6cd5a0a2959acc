/**
 * What a browser opens in the demo: the daemon's console with a bar of switches above it and Slack's last message in it. The daemon
 * knows nothing of the demo, so the bar works while the daemon is dead.
 */
import { Hono, type MiddlewareHandler } from 'hono';
import { proxy } from 'hono/proxy';
import { guardKeyless } from '../api/access/access.ts';
import { problemFrom, problemResponse } from '../api/http/problems.ts';
import { serveApi } from '../api/http/serve.ts';
import { unmarked } from '../channels/people/messages/mrkdwn.ts';
import { serveAsset } from '../console/frame/assets.ts';
import { type Html, html, NOTHING, trusted } from '../console/frame/html.ts';
import { documentOf } from '../console/frame/page.ts';
import { clockTime } from '../console/parts/time.ts';
import type { Instant } from '../domain/values/time.ts';
import type { Switch } from './controls.ts';

/** A message as Slack got it. */
export interface SlackPost {
  readonly text: string;
  readonly at: Instant;
}

export interface FrontParts {
  readonly port: number;
  /** Where the daemon listens. */
  daemonUrl(): string;
  readonly switches: ReadonlyMap<string, Switch>;
  /** The last message of Slack; null before the first. */
  lastPost(): SlackPost | null;
}

export interface Front {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = '/demo/switch';
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Listens on this machine. */
export async function openFront({ port, daemonUrl, switches, lastPost }: FrontParts): Promise<Front> {
  const app = new Hono();
  app.use(guardKeyless([]) as MiddlewareHandler);
  app.get('/assets/*', serveAsset);
  app.post(PATH, async (c) => {
    const { what = '', to = '', back = '/' } = (await c.req.parseBody()) as Record<string, string>;
    // A daemon that does not start says so in its log, and stays dead on the button.
    await Promise.resolve(switches.get(what)?.turn(to === 'on')).catch(() => undefined);
    return c.redirect(/^\/(?![/\\])/.test(back) ? back : '/', 303);
  });
  app.all('*', async (c) => {
    const { pathname, search, origin: own } = new URL(c.req.url);
    const origin = daemonUrl();
    const asked = c.req.header('origin') === own ? { origin } : {};
    const headers = { ...c.req.header(), host: undefined, ...asked, 'accept-encoding': 'identity' };
    const body = await bar(switches, pathname + search);
    const answer = await proxy(origin + pathname + search, { ...c.req, raw: c.req.raw, headers, redirect: 'manual' }).catch(
      () => null,
    );
    if (answer === null) return c.html(documentOf({ title: 'No daemon', base: '', theme: 'system' }, away(body)), 503, HEADERS);
    if (!answer.headers.get('content-type')?.startsWith('text/html')) return quiet(answer);
    return withDemo(answer, body, await slack(lastPost()));
  });
  app.onError((error) => problemResponse(problemFrom(error)));
  const server = await serveApi(app, { host: '127.0.0.1', port });
  return { url: server.url, close: server.close };
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

/** A page of the console with the bar before it and the message at its end. */
async function withDemo(answer: Response, above: string, message: string): Promise<Response> {
  const text = await answer.text();
  const at = text.indexOf('<div class="app">');
  const end = text.lastIndexOf('</main>');
  const page = at < 0 || end < at ? text : text.slice(0, at) + above + text.slice(at, end) + message + text.slice(end);
  const headers = new Headers(answer.headers);
  headers.delete('content-length');
  return new Response(page, { status: answer.status, headers });
}

async function bar(switches: ReadonlyMap<string, Switch>, back: string): Promise<string> {
  const groups = Map.groupBy(switches, ([, { group }]) => group);
  const button = ([name, { word, wordOn, isOn }]: [string, Switch]): Html =>
    html`<form method="post" action="${PATH}"><input type="hidden" name="what" value="${name}"><input type="hidden" name="back" value="${back}"><button class="btn" name="to" value="${isOn() ? 'off' : 'on'}">${isOn() ? wordOn : word}</button></form>`;
  const group = ([name, members]: [string, [string, Switch][]]): Html =>
    html`<fieldset><legend>${name}</legend>${members.map(button)}</fieldset>`;
  const made = html`<section class="demo" aria-label="Demo"><p class="lead"><b>Demo.</b> A simulated checkout service on this machine. Break something, and watch incidents, alerts and deliveries.</p>${[...groups].map(group)}</section>`;
  return String(await made);
}

async function slack(post: SlackPost | null): Promise<string> {
  const lines = post === null ? [] : post.text.split('\n').map(lineOf);
  const [headline, ...rest] = lines;
  const body =
    post === null
      ? html`<p>Slack got no message yet. Break a page, and wait for about half a minute.</p>`
      : html`<p class="small">${clockTime(post.at)}</p><p><b>${headline}</b></p>${rest.map((line) => html`<p>${line}</p>`)}`;
  const made = html`<section class="panel" id="demo-slack" aria-labelledby="demo-slack-h"><header><h2 id="demo-slack-h">Slack</h2><p>the last message, as the stand-in got it</p></header><div class="body">${body}</div></section>`;
  return String(await made);
}

/** A line of Slack's markup, of which links stay. */
function lineOf(line: string): Html {
  const [before = '', ...rest] = line.split(/<(https?:[^|>]+)\|([^>]*)>/);
  // After a text come the address and the label of a link, and the next text.
  const parts = rest.map((part, index) => {
    if (index % 3 === 0) return NOTHING;
    const text = unmarked(part);
    return index % 3 === 1 ? html`<a href="${unmarked(rest[index - 1]!)}">${text}</a>` : html`${text}`;
  });
  return html`${unmarked(before)}${parts}`;
}

function away(above: string): Html {
  return html`${trusted(above)}<div class="door"><main id="main"><h1 class="say">The daemon does not run</h1><p class="sub">Its data is safe: what changed meanwhile is found once it is started again, and what waits is delivered then. Start it with the button above.</p></main></div>`;
}

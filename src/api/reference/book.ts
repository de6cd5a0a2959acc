/** The documentation at /docs/: the book, files that the package holds. They say nothing of this installation, and need no key. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serveStatic } from '@hono/node-server/serve-static';
import { html } from 'hono/html';
import { PACKAGE_FOLDER } from '../../runtime/process/package-folder.ts';
import type { Api, ApiDeps } from '../http/route.ts';

const FOLDER = join(PACKAGE_FOLDER, 'book');

/** The book may use its own scripts, styles and pictures, and nothing inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Mounts the book, or a page that says how to build it. */
export function mountBook(app: Api, { book: folder = FOLDER }: ApiDeps): void {
  const answer = existsSync(join(folder, 'index.html'))
    ? serveStatic({ root: folder, rewriteRequestPath: (path) => path.slice('/docs'.length) })
    : null;
  app.use('/docs/*', async (c, next) => {
    // Links of the book are relative to its folder, and so is this one: a proxy may serve the daemon below any path.
    if (c.req.path === '/docs') return c.redirect('docs/');
    if (answer === null) return isPage(c.req.path) ? c.html(notBuilt(), c.req.path === '/docs/' ? 200 : 404) : next();
    c.header('content-security-policy', POLICY);
    return answer(c, next);
  });
}

/** Whether the book would have a page there. Messages link to pages. */
const isPage = (path: string): boolean => path === '/docs/' || path.endsWith('.html');

function notBuilt() {
  return html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Documentation · purchase-watch</title></head>
<body><main><h1>The documentation is not built here</h1>
<p>The published package brings it along. In a clone, <code>npm run docs</code> builds it, and the next start of the daemon serves it; the same pages are Markdown in the folder <code>docs</code>, which begins with <code>docs/README.md</code>.</p>
<p>Every call of the HTTP API is described by <a href="../openapi.json">openapi.json</a>.</p></main></body>
</html>`;
}

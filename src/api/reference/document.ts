/** The description of all routes, made from their definitions, for programs (/openapi.json) and for people (/docs/api.html). */

import { createHash } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import { OPEN } from '../access/scopes.ts';
import { type Api, jsonAnswer } from '../http/definitions.ts';
import { operationIdOf } from '../http/operation-id.ts';
import { problems } from '../http/problems.ts';
import { docsPage } from './page.ts';
import type { OpenApiDocument } from './page-model.ts';
import { STYLE } from './page-style.ts';
import { registerWebhooks } from './webhooks.ts';

const ABOUT = {
  openapi: '3.1.0',
  info: {
    title: 'purchase-watch',
    version: '1',
    description:
      'Watches purchases at a checkout service that has no callbacks. Failures are problems (RFC 9457) with a stable `code`.',
  },
};

/** The page is one file: nothing else may be loaded, run, framed or posted. */
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Mounts both. They need no key: they say what every installation of this version says. */
export function mountDocument(app: Api, { keyed }: { keyed: boolean }): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description:
      'Each call names the scope that the key needs: `read`, `metrics`, `register` or `operate`. `API_KEY` has all four, `API_READ_KEY` has `read` and `metrics`. Without any key in the configuration only this machine is served, and needs none.',
  });
  registerWebhooks(app.openAPIRegistry);
  let made: OpenApiDocument | undefined;
  const document = (): OpenApiDocument => {
    made ??= withOperationIds(app.getOpenAPI31Document(ABOUT) as unknown as OpenApiDocument);
    return made;
  };
  app.openapi(documentRoute, (c) => c.json({ ...document() }, 200));
  app.openapi(pageRoute, async (c) => {
    const page = await docsPage(document(), { origin: new URL(c.req.url).origin, keyed, description: '../openapi.json' });
    return c.html(page, 200, { 'content-security-policy': PAGE_POLICY, 'referrer-policy': 'no-referrer' });
  });
}

/** Client generators name their functions by these. A route's own id wins over the one its method and path make. */
function withOperationIds(document: OpenApiDocument): OpenApiDocument {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) operation.operationId ??= operationIdOf(method, path);
  }
  return document;
}

const documentRoute = createRoute({
  method: 'get',
  path: '/openapi.json',
  summary: 'This API as an OpenAPI 3.1 document',
  tags: ['Operations'],
  security: OPEN,
  responses: {
    200: jsonAnswer('The document.', z.record(z.string(), z.any())),
    ...problems(),
  },
});

const pageRoute = createRoute({
  method: 'get',
  path: '/docs/api.html',
  summary: 'The same document as a page for people',
  tags: ['Operations'],
  security: OPEN,
  responses: {
    200: { description: 'One page without scripts.', content: { 'text/html': { schema: z.string() } } },
    ...problems(),
  },
});

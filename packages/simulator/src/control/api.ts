/** The controls over HTTP: JSON under /control/…, described by /control/openapi.json, and the pages for people. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { findPackageJSON } from 'node:module';
import { getRequestListener } from '@hono/node-server';
import { createRoute, z } from '@hono/zod-openapi';
import { checkoutPage, noCheckoutPage } from './checkout-page.ts';
import { mountCounters } from './counter-routes.ts';
import { type ControlApp, controlOf, createControlApp, type Directory, jsonAnswer } from './definitions.ts';
import { controlPage, purchaseRows } from './page.ts';
import { Problem, problemResponse, problems } from './problems.ts';
import { mountPurchases } from './purchase-routes.ts';
import { mountService } from './service-routes.ts';
import { mountTrouble } from './trouble-routes.ts';

/** The manifest of the package which holds `packages`, from sources, or `dist/packages`. */
const MANIFEST = findPackageJSON(new URL('../../../..', import.meta.url))!;
const { version: VERSION } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };

const ABOUT = {
  openapi: '3.1.0',
  info: {
    title: 'purchase-watch simulator: controls',
    version: VERSION,
    description:
      'Controls of a stand-in for the checkout service. None of these calls is part of the specification of the service. Failures are problems (RFC 9457) with a stable `code`.',
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'purchase-watch' },
  },
  security: [],
  tags: [
    { name: 'Purchases', description: 'Purchases and their customers.' },
    { name: 'Trouble', description: 'What goes wrong at the service, or at the page of the shop.' },
    { name: 'Service', description: 'Settings, clock and namespaces.' },
    { name: 'Counters', description: 'What the service was asked.' },
  ],
};

/** A request listener for everything under /control, for the page at /, and for /healthz. */
export function createControlListener(
  directory: Directory,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const app = createControlApp(directory);
  mountPurchases(app);
  mountService(app, directory);
  mountTrouble(app);
  mountCounters(app);
  mountDocument(app);
  mountPages(app);
  app.notFound((c) => problemResponse(nothingHere(app, c.req.method, c.req.path)));
  return getRequestListener((request, env) => app.fetch(request, env), { overrideGlobalObjects: false });
}

function mountDocument(app: ControlApp): void {
  let made: object | undefined;
  app.openapi(documentRoute, (c) => {
    made ??= app.getOpenAPI31Document(ABOUT);
    return c.json({ ...made, servers: serversAt(new URL(c.req.url).origin) }, 200);
  });
}

/** Where the calls are: with complete addresses, for programs that make a client of the document. */
function serversAt(origin: string): object[] {
  const namespace = { default: 'my-test', description: '1 to 64 letters, digits, dots, dashes or underscores.' };
  return [
    { url: origin, description: 'The namespace without a name.' },
    {
      url: `${origin}/ns/{namespace}`,
      description: 'A namespace, which begins when it is first named.',
      variables: { namespace },
    },
  ];
}

function mountPages(app: ControlApp): void {
  app.get('/healthz', (c) => c.json({ status: 'ok' }));
  app.get('/', (c) => c.redirect(`${new URL(c.req.url).pathname.replace(/\/+$/, '')}/control`));
  app.get('/control', (c) => {
    // A page around this one could lay its own buttons under a person's clicks.
    c.header('content-security-policy', "frame-ancestors 'self'");
    return c.html(controlPage(controlOf(c), c.get('namespace').name));
  });
  app.get('/control/rows', (c) => c.html(purchaseRows(controlOf(c))));
  app.get('/control/checkout/:id', (c) => {
    const control = controlOf(c);
    const id = c.req.param('id');
    if (control.get(id) === null) return c.html(noCheckoutPage(id), 404);
    return c.html(checkoutPage(control.customer(id, 'opens')));
  });
}

function nothingHere(app: ControlApp, method: string, path: string): Problem {
  const shown = JSON.stringify(path.slice(0, 200));
  if (path.startsWith('/ns/')) {
    const detail = `${shown} names no namespace: names have 1 to 64 letters, digits, dots, dashes or underscores.`;
    return new Problem('not_found', detail);
  }
  const methods = app.routes
    .filter((route) => route.method !== 'ALL' && patternOf(route.path).test(path))
    .map((route) => route.method);
  if (methods.length === 0)
    return new Problem('not_found', `There is nothing at ${shown}; the calls are listed in /control/openapi.json.`);
  const allow = [...new Set(methods)].join(', ');
  return new Problem('method_not_allowed', `${shown} does not accept ${method}; it accepts ${allow}.`, [], { allow });
}

function patternOf(path: string): RegExp {
  const parts = path.split(/(:\w+)/).map((part) => (part.startsWith(':') ? '[^/]+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('')}$`);
}

const documentRoute = createRoute({
  method: 'get',
  path: '/control/openapi.json',
  operationId: 'getDocument',
  summary: 'This API as an OpenAPI 3.1 document',
  description: 'The same in every namespace.',
  tags: ['Service'],
  responses: { 200: jsonAnswer('The document.', z.record(z.string(), z.any())), ...problems('not_found') },
});

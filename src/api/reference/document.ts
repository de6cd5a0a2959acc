/** The description of all routes, made from their definitions: /openapi.json. The book has the same as a page. */

import { z } from '@hono/zod-openapi';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { type Api, jsonAnswer, OPEN, route } from '../http/route.ts';
import { registerWebhooks } from './webhooks.ts';

const ABOUT = {
  openapi: '3.1.0',
  info: {
    title: 'purchase-watch',
    version: packageVersion(),
    description:
      'Watches purchases at a checkout service that has no callbacks. Failures are problems (RFC 9457) with a stable `code`.',
    license: { name: 'MIT', identifier: 'MIT' },
    contact: { name: 'purchase-watch' },
  },
  // As the reader of the document reached it: behind a proxy that ends TLS the daemon does not know its own address.
  servers: [{ url: '/', description: 'The daemon that answered with this document.' }],
  tags: [
    { name: 'Purchases', description: 'Register purchases, read them, poll them now, stop them, erase a person.' },
    { name: 'Events', description: 'What happened, in an order into which nothing is inserted later.' },
    { name: 'Incidents', description: 'Many symptoms with one cause, silences of their alerts, and rehearsals of other limits.' },
    { name: 'Subscribers', description: 'Receivers of events, and what is done when one fails.' },
    { name: 'Deliveries', description: 'One event for one subscriber, with its attempts.' },
    { name: 'Channels', description: 'How people are alerted, and a message to try it.' },
    { name: 'Operations', description: 'Health, metrics, keys and sessions of the daemon.' },
    { name: 'Webhooks', description: 'What the daemon sends to subscribers.' },
  ],
};

/** Mounts the OpenAPI document. It needs no key: it is the same in every installation of this version. */
export function mountDocument(app: Api): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description:
      'Each call names in `x-scope` the scope that the key needs: `read`, `metrics`, `register` or `operate`. `API_KEY` has all four, `API_READ_KEY` has `read` and `metrics`. Without any key in the configuration only programs on this machine that can read the file `authorization` in `DATA_DIR` are served, with the line in it.',
  });
  registerWebhooks(app.openAPIRegistry);
  let text: string | undefined;
  app.openapi(documentRoute, (c) => {
    // Made once, because strangers may ask for it, and it takes 5 ms.
    text ??= JSON.stringify(app.getOpenAPI31Document(ABOUT));
    return c.body(text, 200, { 'content-type': 'application/json' }) as never;
  });
}

const documentRoute = route('GET /openapi.json', {
  summary: 'This API as an OpenAPI 3.1 document',
  description: 'For generators of clients and for linters; the same for every caller.',
  security: OPEN,
  answers: { 200: jsonAnswer('The document.', z.record(z.string(), z.any())) },
  needsDatabase: false,
});

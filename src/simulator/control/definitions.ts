/** What the routes of the controls share: the app, the namespace of a request, bodies. */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Control } from '../contract/control.ts';
import type { Namespace } from '../contract/simulator.ts';
import { invalid, Problem, problemResponse } from './problems.ts';

export interface NamedNamespace extends Namespace {
  /** Empty for the namespace without a name. */
  readonly name: string;
}

/** All namespaces, as the controls need them. */
export interface Directory {
  /** The namespace of an address and the path within; null when the address names none as it must. */
  find(address: string): { readonly path: string; namespace(caller: string): NamedNamespace } | null;
  list(): readonly NamedNamespace[];
  resetAll(): void;
}

interface ControlEnv {
  Bindings: HttpBindings;
  Variables: { namespace: NamedNamespace };
}
export type ControlApp = OpenAPIHono<ControlEnv>;
type ControlContext = Context<ControlEnv>;

const LARGEST_BODY = 1024 * 1024;

/** An app whose paths are those within a namespace. */
export function createControlApp(directory: Directory): ControlApp {
  const within = (url: string) => {
    const { pathname, search } = new URL(url);
    return directory.find(pathname + search);
  };
  const app: ControlApp = new OpenAPIHono({
    getPath: (request) => (within(request.url)?.path ?? new URL(request.url).pathname).replace(/\?.*/, ''),
    defaultHook: (result) => {
      if (!result.success) throw invalid(result.error, 'data' in result ? result.data : undefined);
    },
  });
  app.onError((error) => problemResponse(error));
  app.use(async (c, next) => {
    const found = within(c.req.url);
    if (found !== null) c.set('namespace', found.namespace(addressOf(c.env.incoming)));
    await next();
  });
  return app;
}

/** The address that a request comes from. */
export function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** The controls of the namespace that a request names. */
export function controlOf(c: ControlContext): Control {
  return c.get('namespace').control;
}

/** The base address of the namespace as the caller knows it: behind a mapped port, the listener does not. */
export function baseOf(c: ControlContext): string {
  const { name } = c.get('namespace');
  return `${new URL(c.req.url).origin}${name === '' ? '' : `/ns/${name}`}`;
}

async function readText(c: Context): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of c.req.raw.body ?? []) {
    size += chunk.byteLength;
    if (size > LARGEST_BODY)
      throw new Problem('too_large', `The body is larger than ${LARGEST_BODY / 1024} KiB, the most accepted here.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Lets the checks of a route see a JSON body. Other content types are refused: a page elsewhere could send those without asking. */
const readJson: MiddlewareHandler = async (c, next) => {
  if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? ''))
    throw new Problem('unsupported_media_type', 'Send the body as JSON, with the header "content-type: application/json".');
  const value = parsed(await readText(c));
  c.req.json = async <T>() => value as T;
  await next();
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch (error) {
    throw new Problem('not_json', `The body is not JSON: ${(error as Error).message}.`);
  }
}

/** The parts of a route's definition that read a body of this schema. */
export function jsonRequest<Schema extends z.ZodType>(schema: Schema) {
  return { middleware: readJson, request: { body: { required: true, content: { 'application/json': { schema } } } } };
}

/** The same where a request may come without a body. */
export function optionalJsonRequest<Schema extends z.ZodType>(schema: Schema) {
  const read: MiddlewareHandler = (c, next) => {
    const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': chunked } = c.req.header();
    return type === undefined && length === '0' && chunked === undefined ? next() : readJson(c, next);
  };
  return { middleware: read, request: { body: { required: false, content: { 'application/json': { schema } } } } };
}

/** An answer in JSON. */
export function jsonAnswer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

/** An object with these fields and no others; the error for another field lists them all. */
export function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `is not known here; ${known.length === 0 ? 'nothing is' : `known: ${known.join(', ')}`}`
        : 'must be an object',
  });
}

/** Parts that the routes of the controls share: the app, the namespace of a request, bodies. */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { createRoute, OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Control } from '../contract/control.ts';
import type { Namespace } from '../contract/simulator.ts';
import { BODY_PROBLEMS, invalid, Problem, type ProblemCode, problemResponse, problems } from './problems.ts';
import { idParameter, settingsSchema } from './schemas.ts';

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

/** The base address of a namespace. */
export function addressIn(origin: string, name: string): string {
  return name === '' ? origin : `${origin}/ns/${name}`;
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

/** Reads a JSON body where a request may come without one. */
const readOptionalJson: MiddlewareHandler = (c, next) => {
  const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': chunked } = c.req.header();
  return type === undefined && length === '0' && chunked === undefined ? next() : readJson(c, next);
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text);
  } catch (error) {
    throw new Problem('not_json', `The body is not JSON: ${(error as Error).message}.`);
  }
}

/** A call of the controls as a route has it once its request was checked. */
interface Called<Query, Body> {
  readonly control: Control;
  /** The id of the purchase that the path names; empty where the path names none. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** The name of the namespace; empty for the one without a name. */
  readonly name: string;
  /** Scheme, host and port as the caller knows them: behind a mapped port, the listener does not. */
  readonly origin: string;
}

interface ControlCall<Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType> {
  /** `post` with a body and `get` without one, unless given. */
  readonly method?: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly query?: Query;
  readonly body?: Body;
  readonly isBodyOptional?: boolean;
  readonly status?: 200 | 201 | 202;
  /** The settings after the call unless given. */
  readonly answer?: readonly [description: string, schema: Answer];
  /** Problems besides those of each call, and of each call with a body. */
  readonly fails?: readonly ProblemCode[];
  run(call: Called<z.output<Query>, z.output<Body>>): z.input<Answer>;
}

/** Mounts calls of one tag, one at a time. */
export function callsOf(app: ControlApp, tag: string) {
  return <Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType>({
    query,
    body,
    isBodyOptional = false,
    method = body === undefined ? 'get' : 'post',
    status = 200,
    answer: [said, answer] = ['The settings after it.', settingsSchema as never],
    fails = [],
    run,
    ...about
  }: ControlCall<Query, Body, Answer>): void => {
    const hasId = about.path.includes('{id}');
    const route = createRoute({
      ...about,
      method,
      tags: [tag],
      ...(body && { middleware: isBodyOptional ? readOptionalJson : readJson }),
      request: {
        ...(hasId && { params: idParameter }),
        ...(query && { query: query as never }),
        ...(body && { body: { required: !isBodyOptional, content: { 'application/json': { schema: body } } } }),
      },
      responses: { [status]: jsonAnswer(said, answer), ...problems(...fails, ...(body ? BODY_PROBLEMS : [])) },
    });
    const handle = (c: ControlContext) => {
      const { control, name } = c.get('namespace');
      const valid = (target: string) => c.req.valid(target as never);
      const id = hasId ? (valid('param') as { id: string }).id : '';
      const { origin } = new URL(c.req.url);
      const made = run({ control, name, origin, id, query: valid('query'), body: valid('json') });
      // The end of a fault that never ends is infinite, which JSON writes as null.
      return c.json(made ?? control.settings(), status);
    };
    app.openapi(route, handle as never);
  };
}

export function jsonAnswer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

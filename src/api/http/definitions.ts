/** What many routes have: the app, parts of their definitions, the end of a request. */
import type { OpenAPIHono, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiBindings } from './serve.ts';

export type Api = OpenAPIHono<{ Bindings: ApiBindings }>;

/** Aborted when the caller has gone, or the server closes. */
export function goneSignal({ req, env }: Context<{ Bindings: ApiBindings }>): AbortSignal {
  return AbortSignal.any([req.raw.signal, env?.closing].filter((signal) => signal !== undefined));
}

/** An answer in JSON. */
export function jsonAnswer<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } };
}

/** A body in JSON, which must be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } };
}

/** Problems of each call with a body. */
export const BODY_PROBLEMS = ['not_json', 'too_deep', 'too_large', 'unsupported_media_type'] as const;

/** Answers to an asker in this process: the value itself, because to write and parse a long text takes as long as to make what it says. */
import type { MiddlewareHandler } from 'hono';
import type { ApiBindings } from './serve.ts';

/** Hands what is answered as JSON to the asker's `take`, where there is one, and leaves the answer's body empty. */
export const answerWithin: MiddlewareHandler<{ Bindings: ApiBindings }> = async (c, next) => {
  const take = c.env?.take;
  if (take !== undefined)
    c.json = ((value: unknown, ...head: []) => {
      take(value);
      return c.body(null, ...head);
    }) as never;
  await next();
};

/** Headers of every answer: it is about now and for the caller alone, is what it says it is, and is no page that loads or runs anything. */
import type { MiddlewareHandler } from 'hono';

export const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Adds them to each answer that has none of its own. */
export const answerHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  for (const [name, value] of Object.entries(ANSWER_HEADERS)) if (!c.res.headers.has(name)) c.header(name, value);
};

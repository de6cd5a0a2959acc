/** A log line for each change and each read of a person's data: who, what, on which id, from where. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Logger } from '../../runtime/logger.ts';
import { senderOf } from './access.ts';
import type { Rule } from './scopes.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** What a call without an id in its path is about: ids and counts, nothing that a caller wrote freely. */
    subject?: Readonly<Record<string, string | number>>;
  }
}

/** Logs what was answered. Refused requests changed nothing; one that failed here may have changed something. */
export function accessLog(log: Logger, ruleOf: (c: Context) => Rule | undefined): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const rule = ruleOf(c);
    const isChange = rule?.scope === 'register' || rule?.scope === 'operate';
    const { status } = c.res;
    if (rule === undefined || !(isChange ? status < 400 || status >= 500 : rule.isPersonal && status < 400)) return;
    // What was made says where it is now.
    const { id = c.res.headers.get('location')?.split('/').at(-1) } = checked(c, 'param');
    const { site } = checked(c, 'query');
    const subject = { ...(id !== undefined && { id }), ...(site !== undefined && { site }), ...c.get('subject') };
    const key = c.get('caller')?.key ?? null;
    log.info({ key, ...senderOf(c, rule.call), ...subject, status }, isChange ? 'api.changed' : 'api.personal_data_read');
  };
}

/** What the route's own checks let through; anything else is not logged. */
function checked(c: Context, part: 'param' | 'query'): { readonly id?: string; readonly site?: string } {
  return (c.req.valid(part as never) as { id?: string; site?: string } | undefined) ?? {};
}

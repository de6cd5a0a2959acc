/** Who did what, on which id, from where: a log line for each change and each read of a person's data, and a row for each change by an operator. */

import type { Context, MiddlewareHandler } from 'hono';
import type { NewAction } from '../../actions/recorded.ts';
import type { Logger } from '../../runtime/logger.ts';
import { senderOf } from './access.ts';
import type { Rule } from './scopes.ts';

declare module 'hono' {
  interface ContextVariableMap {
    /** The subject of a call without an id in its path: ids and counts, nothing that a caller wrote freely. */
    subject?: Subject;
  }
}

type Subject = {
  /** `key`: the name of the key whose sessions were ended. */
  readonly [Name in 'id' | 'site' | 'key' | 'created' | 'existing' | 'rejected' | 'ended' | 'act' | 'count']?: string | number;
};

/** Calls that a program makes for many purchases; those of people are recorded. */
const OF_PROGRAMS: ReadonlySet<string> = new Set(['POST /v1/purchases/{id}/poll', 'POST /v1/purchases/{id}/invoice']);

const ERASING = 'POST /v1/purchases/{id}/forget';

export interface AccessLogParts {
  readonly log: Logger;
  ruleOf(c: Context): Rule | undefined;
  /** Keeps a change by an operator; absent where nothing can be changed. */
  readonly record?: ((action: NewAction) => Promise<void>) | undefined;
}

/** Logs what was answered, and records it. Refused requests changed nothing; one that failed here may have changed something. */
export function accessLog({ log, ruleOf, record }: AccessLogParts): MiddlewareHandler {
  /** Never throws: what was done is done. */
  const keep = async (c: Context, action: Omit<NewAction, 'via'>): Promise<void> => {
    const via = c.env?.via ?? 'api';
    if (isDryRun(c) || (via === 'api' && OF_PROGRAMS.has(action.call))) return;
    const { id, ...others }: Subject = action.subject;
    // As callers write it: `sil_42`, where the checks left its number. What was erased is not named again.
    const named = id === undefined || action.call === ERASING ? {} : { id: c.req.param('id') ?? id };
    await record?.({ ...action, via, subject: { ...named, ...others } }).catch((error: unknown) =>
      log.error({ call: action.call, key: action.key, error }, 'api.action_not_recorded'),
    );
  };
  return async (c, next) => {
    await next();
    const rule = ruleOf(c);
    const isChange = rule?.scope === 'register' || rule?.scope === 'operate';
    const { status } = c.res;
    if (rule === undefined || !(isChange ? status < 400 || status >= 500 : rule.isPersonal && status < 400)) return;
    const subject = subjectOf(c);
    const { key = null, name = null } = c.get('caller') ?? {};
    const sender = senderOf(c, rule.call);
    const { key: ofKey, ...about } = subject;
    if (isChange) log.info({ key, ...sender, ...about, ofKey, status }, 'api.changed');
    else log.info({ key, ...sender, id: about.id, site: about.site, status }, 'api.personal_data_read');
    if (rule.scope !== 'operate') return;
    const kept = keep(c, { key, person: name, ...sender, subject, outcome: status < 400 ? 'done' : 'failed' });
    // A database that fails would only make the failure longer.
    if (status < 400) await kept;
  };
}

/** The subject of a call: ids and counts. */
function subjectOf(c: Context): Subject {
  // The answer about a new thing says where it is.
  const { id = c.res.headers.get('location')?.split('/').at(-1) } = checked(c, 'param');
  const { site } = checked(c, 'query');
  return { ...(id !== undefined && { id }), ...(site !== undefined && { site }), ...c.get('subject') };
}

/** Whether the call only counted what it would do. */
function isDryRun(c: Context): boolean {
  return (c.req.valid('json' as never) as { dryRun?: boolean } | undefined)?.dryRun === true;
}

/** The values that passed the route's own checks; others are not logged. */
function checked(c: Context, part: 'param' | 'query'): { readonly id?: string; readonly site?: string } {
  return (c.req.valid(part as never) as { id?: string; site?: string } | undefined) ?? {};
}

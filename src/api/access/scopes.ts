/** The rule of each call about the caller's key, as its `security` declares it. */

import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Scope } from '../../config/kinds/key-kinds.ts';
import type { Api } from '../http/route.ts';

/** One mounted route. */
export interface Rule {
  /** As the OpenAPI document has it, such as `GET /v1/purchases/{id}`. */
  readonly call: string;
  /** The scope that a key needs; null: keys are not looked at. */
  readonly scope: Scope | null;
  /** Whether a caller without a key is answered, too. */
  readonly isOptional: boolean;
  /** Whether the answer holds a person's data. */
  readonly isPersonal: boolean;
}

/** Looks up the rule of a request; undefined when no route is mounted there. */
export function ruleTable(app: Api): (c: Context) => Rule | undefined {
  const rules = new Map<string, Rule>();
  for (const definition of app.openAPIRegistry.definitions) {
    if (definition.type !== 'route') continue;
    const { method, path, security, 'x-scope': scope = null, 'x-personal-data': isPersonal = false } = definition.route;
    const call = `${method.toUpperCase()} ${path}`;
    // A route that forgot to say would be open to everybody.
    if (security?.some((each) => 'key' in each) !== (scope !== null)) throw new Error(`${call} declares no security`);
    const isOptional = security.some((each) => Object.keys(each).length === 0);
    rules.set(routingKey(method, path), { call, scope, isOptional, isPersonal });
  }
  return (c) => {
    // The route that was mounted first answers.
    const route = matchedRoutes(c).find(({ method, path }) => rules.has(routingKey(method, path)));
    return route === undefined ? undefined : rules.get(routingKey(route.method, route.path));
  };
}

/** The router writes `:id` where OpenAPI writes `{id}`. */
function routingKey(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`;
}

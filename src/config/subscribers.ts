/** The subscribers that settings name: those of the file, and the one named `default` of the variables. */
import type { Environment } from './environment.ts';
import type { FileSettings } from './file-schema.ts';
import { signingSecret } from './kinds.ts';
import type { SubscriberSettings } from './settings.ts';

/** Everybody who is told, the variables' subscriber first. */
export function namedSubscribers(
  named: FileSettings['subscribers'],
  environment: Environment,
  problems: string[],
): SubscriberSettings[] {
  const url = environment.read('WEBHOOK_URL', problems);
  const secret = environment.read('WEBHOOK_SECRET', problems);
  if (environment.isSet('WEBHOOK_URL') && !environment.isSet('WEBHOOK_SECRET')) {
    problems.push(`WEBHOOK_SECRET: is missing while WEBHOOK_URL is set; expected ${signingSecret.expected}`);
  }
  if (environment.isSet('WEBHOOK_SECRET') && !environment.isSet('WEBHOOK_URL')) {
    problems.push('WEBHOOK_URL: is missing while WEBHOOK_SECRET is set; set both or neither');
  }
  if (environment.isSet('WEBHOOK_URL') && 'default' in named) {
    problems.push('subscribers.default: WEBHOOK_URL makes a subscriber of the same name; keep one of them, or rename this one');
  }
  const fromVariables =
    url === null || secret === null ? [] : [{ name: 'default', url, secret, types: null, sites: null, states: null }];
  const fromFile = Object.entries(named).map(([name, each]) => ({
    name,
    url: each.url,
    secret: each.secret,
    types: each.types ?? null,
    sites: each.sites ?? null,
    states: each.states ?? null,
  }));
  return [...fromVariables, ...fromFile];
}

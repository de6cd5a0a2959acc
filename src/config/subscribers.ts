/** The subscribers that settings name: those of the file, and the one named `default` of the variables. */

import { signingSecret } from './kinds/kinds.ts';
import { oldSecretsProblem } from './kinds/subscriber-checks.ts';
import { addressKind } from './kinds/subscriber-kinds.ts';
import { DEFAULT_ROUTING_KEY, DEFAULT_SUBJECT, type FileSettings } from './schema/file-schema.ts';
import type { Environment } from './sources/environment.ts';

/** All subscribers, the one of the variables first. */
export function namedSubscribers(
  named: FileSettings['subscribers'],
  environment: Environment,
  problems: string[],
): SubscriberSettings[] {
  const url = environment.read('WEBHOOK_URL', problems);
  const [secret, ...oldSecrets] = environment.read('WEBHOOK_SECRET', problems);
  if (environment.isSet('WEBHOOK_URL') && !environment.isSet('WEBHOOK_SECRET')) {
    problems.push(`WEBHOOK_SECRET: is missing while WEBHOOK_URL is set; expected ${signingSecret.expected}`);
  }
  if (environment.isSet('WEBHOOK_SECRET') && !environment.isSet('WEBHOOK_URL')) {
    problems.push(
      'WEBHOOK_URL: is missing while WEBHOOK_SECRET is set; set both or neither (for a subscriber of the file, give its secret a variable of another name)',
    );
  }
  const trouble = secret === undefined ? null : oldSecretsProblem({ secret, oldSecrets });
  if (trouble !== null) problems.push(`WEBHOOK_SECRET: ${trouble}`);
  if (environment.isSet('WEBHOOK_URL') && 'default' in named) {
    problems.push('subscribers.default: WEBHOOK_URL makes a subscriber of the same name; keep one of them, or rename this one');
  }
  const fromVariables: SubscriberSettings[] =
    url === null || secret === undefined ? [] : [{ ...VARIABLES_SUBSCRIBER, url, secret, oldSecrets }];
  return [...fromVariables, ...Object.entries(named).map(([name, each]) => fromFile(name, each))];
}

const VARIABLES_SUBSCRIBER = {
  name: 'default',
  kind: 'webhook',
  format: 'standard',
  headers: {},
  signingKey: null,
  clientCertificate: null,
  clientKey: null,
  types: null,
  sites: null,
  states: null,
} as const satisfies Partial<SubscriberSettings>;

/** Who gets events, and which. */
export type SubscriberSettings = ReturnType<typeof fromFile>;
export type WebhookSettings = Extract<SubscriberSettings, { kind: 'webhook' }>;

/** A subscriber of the file. What does not fit its kind was refused with the file, so here it is only left out. */
function fromFile(name: string, each: FileSettings['subscribers'][string]) {
  const { url, secret, oldSecrets, format, signingKey, clientCertificate, clientKey, credentials } = each;
  const common = {
    name,
    url,
    format,
    oldSecrets,
    signingKey,
    // Null means all.
    types: each.types ?? null,
    sites: each.sites ?? null,
    states: each.states ?? null,
  };
  // There only when it is set: what an address is known by is made of all that is there.
  const certificate = clientCertificate !== null && clientKey !== null && { clientCertificate, clientKey };
  switch (addressKind(url)) {
    case 'nats': {
      const subject = each.subject ?? DEFAULT_SUBJECT;
      return { ...common, kind: 'nats' as const, secret, subject, ...certificate, ...(credentials !== null && { credentials }) };
    }
    case 'rabbitmq': {
      const routingKey = each.routingKey ?? DEFAULT_ROUTING_KEY;
      return { ...common, kind: 'rabbitmq' as const, secret, exchange: each.exchange!, routingKey, ...certificate };
    }
    case 'webhook': {
      const headers = each.headers ?? {};
      return { ...common, kind: 'webhook' as const, secret: secret!, headers, clientCertificate, clientKey };
    }
  }
}

/** A subscriber for people. */

import type { subscriberBody } from '../../actions/subscribers/body.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import type { CliContext } from '../terminal/context.ts';
import { printFacts } from '../terminal/output.ts';
import { statusText } from './show-health.ts';

/** A filter in words. */
export function listed(list: readonly (string | number)[] | null): string {
  return list === null ? 'all' : list.join(', ');
}

/** All that may be shown of one. */
export function printSubscriber(context: CliContext, body: ReturnType<typeof subscriberBody>): void {
  printFacts(context, [
    ['subscriber', body.name],
    ['from', body.origin],
    ['status', statusText(body)],
    ['failing', body.health.failingSince === null ? null : `since ${body.health.failingSince}`],
    ['address', body.url],
    ['format', body.format === 'standard' ? null : body.format],
    ['headers', body.headers.length === 0 ? null : `${body.headers.join(', ')} (values are not shown)`],
    ['public key', body.publicKey],
    ['types', listed(body.types)],
    ['sites', listed(body.sites)],
    ['states', listed(body.states?.map(stateBoth) ?? null)],
    ['about', body.description],
    ['old secrets', body.oldSecretsUntil === null ? null : `sign until ${body.oldSecretsUntil}`],
    ['since', body.createdAt],
  ]);
}

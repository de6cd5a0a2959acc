/** The sites: those of the file, or the one named `default` that the variables describe. */

import { notes } from './kinds/field.ts';
import type { FileSettings } from './schema/file-schema.ts';
import { VARIABLES, type VariableName } from './schema/variables.ts';
import type { SiteSettings } from './settings.ts';
import type { Environment } from './sources/environment.ts';

const REQUIRED = ['CHECKOUT_BASE_URL', 'CHECKOUT_CLIENT_ID', 'CHECKOUT_CLIENT_SECRET'] as const;

export function fileSites(sites: FileSettings['sites']): SiteSettings[] {
  return Object.entries(sites ?? {}).map(([name, site]) => ({ name, ...site }));
}

/** The site of the variables. Half a site is always a problem, no site at all only where one is needed. */
export function variableSites(environment: Environment, needed: boolean, problems: string[]): SiteSettings[] {
  const read = <Name extends VariableName>(name: Name) => environment.read(name, problems);
  const baseUrl = read('CHECKOUT_BASE_URL');
  const clientId = read('CHECKOUT_CLIENT_ID');
  const clientSecret = read('CHECKOUT_CLIENT_SECRET');
  const rest = {
    auth: read('CHECKOUT_AUTH'),
    timeZone: read('CHECKOUT_TIME_ZONE'),
    maxRps: read('CHECKOUT_MAX_RPS'),
    concurrency: read('CHECKOUT_CONCURRENCY'),
    timeout: read('CHECKOUT_TIMEOUT'),
    invoices: read('CHECKOUT_INVOICES'),
    proxy: read('CHECKOUT_PROXY'),
  };
  const missing = REQUIRED.filter((name) => !environment.isSet(name));
  if (missing.length > 0 && (needed || missing.length < REQUIRED.length)) {
    problems.push(...missing.map((name) => `${name}: is missing; expected ${notes.get(VARIABLES[name])!.kind.expected}`));
    if (missing.length === REQUIRED.length) problems[problems.length - 1] += '. "purchase-watch init" asks for all three';
  }
  if (baseUrl === null || clientId === null || clientSecret === null) return [];
  return [{ name: 'default', baseUrl, clientId, clientSecret, ...rest, formerly: [] }];
}

/** The options of the simulator, checked and with what holds where they are left out. */
import { z } from 'zod';
import { pathName, SimulatorError } from './contract/error.ts';
import type { Site } from './contract/purchases.ts';
import type { Settled, SimulatorOptions } from './contract/simulator.ts';

const DEFAULT_SITES: readonly Site[] = [
  { code: 'demo-se', currency: 'SEK', country: 'SWE', timeZone: 'Europe/Stockholm' },
  { code: 'demo-fi', currency: 'EUR', country: 'FIN', timeZone: 'Europe/Stockholm' },
];

const letters = (example: string) =>
  z
    .string(`must be three capital letters, such as ${example}`)
    .regex(/^[A-Z]{3}$/, `must be three capital letters, such as ${example}`);
const credential = z.string('must be text').min(1, 'is empty; give one or more characters, or leave it out');
const count = (detail: string, least = 0) => z.number(detail).min(least, detail);

const site = z.strictObject(
  {
    code: z
      .string('must be text, such as my-shop-se')
      .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores, such as my-shop-se'),
    currency: letters('SEK'),
    country: letters('SWE'),
    timeZone: z
      .string('must be the name of a time zone, such as Europe/Stockholm')
      .refine(isTimeZone, 'is not a time zone that this Node.js knows; write it like Europe/Stockholm')
      .default('Europe/Stockholm'),
  },
  unknownIn('code, currency, country, timeZone'),
);

const shape = {
  port: z
    .int('must be a whole number from 0 to 65535; 0 is any free port')
    .min(0, 'must be 0 or more; 0 is any free port')
    .max(65_535, 'must be 65535 or less')
    .default(0),
  host: z
    .string('must be an address, such as 127.0.0.1')
    .min(1, 'is empty; give an address, such as 127.0.0.1')
    .default('127.0.0.1'),
  allowHosts: z
    .array(
      z
        .string('must be text, such as checkout.example')
        .regex(/^[\w.-]+$/, 'must be a name without scheme and port, such as checkout.example'),
      'must be a list of names, such as ["checkout.example"]',
    )
    .default(() => []),
  seed: z.int('must be a whole number').default(1),
  timeScale: z.number('must be a number').positive('must be more than 0; 60 lets a minute take a second').default(1),
  load: count('must be a number of purchases per minute, zero or more').default(0),
  now: z
    .custom<() => number>((value) => typeof value === 'function', 'must be a function that answers milliseconds')
    .default(() => Date.now),
  auth: z.enum(['oauth2', 'basic', 'both'], 'must be oauth2, basic or both').default('oauth2'),
  clientId: credential.default('demo-client'),
  clientSecret: credential.default('demo-secret'),
  tokenLifetime: z.number('must be a number of seconds').positive('must be more than 0 seconds').default(3_600),
  expiresIn: z.enum(['number', 'string', 'absent'], 'must be number, string or absent').default('number'),
  sites: z
    .array(site, 'must be a list of sites, such as [{ code: "my-shop", currency: "SEK", country: "SWE" }]')
    .min(1, 'is empty; name at least one site, or leave the option out')
    .superRefine(refuseRepeated)
    .default(() => [...DEFAULT_SITES]),
  keep: count('must be a number of purchases, one or more', 1).default(50_000),
};

const schema = z.strictObject(shape, unknownIn(Object.keys(shape).join(', ')));

/** Checks options. Throws SimulatorError, which names each that is wrong and what to give instead. */
export function settle(options: SimulatorOptions): Settled {
  const checked = schema.safeParse(options);
  if (checked.success) return checked.data;
  throw optionError(checked.error, options);
}

/** Checks one site as it stands in `sites`, for callers who read it from text. Throws SimulatorError. */
export function settleSite(given: object): Site {
  const checked = site.safeParse(given);
  if (checked.success) return checked.data;
  throw optionError(checked.error, given);
}

function optionError({ issues }: z.ZodError, options: unknown): SimulatorError {
  const errors = issues.map(({ path, message }) => {
    const field = pathName(path);
    const value = path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | undefined)?.[key], options);
    const isShown = path.at(-1) !== 'clientSecret' && ['string', 'number', 'boolean'].includes(typeof value);
    return { ...(field !== '' && { field }), ...(isShown && { value }), detail: message };
  });
  const [first] = errors;
  if (errors.length === 1 && first !== undefined) return new SimulatorError('invalid_request', first.detail, first);
  const lines = errors.map(({ detail, ...about }) => new SimulatorError('invalid_request', detail, about).message);
  return new SimulatorError('invalid_request', lines.join('\n'));
}

function unknownIn(known: string) {
  const error = (issue: { readonly code?: string; readonly keys?: readonly string[] }): string =>
    issue.code === 'unrecognized_keys'
      ? `${(issue.keys ?? []).map((key) => JSON.stringify(key)).join(', ')} is not known here; known: ${known}`
      : `must be an object with ${known}`;
  return { error };
}

function refuseRepeated(sites: readonly { readonly code: string }[], context: z.RefinementCtx): void {
  sites.forEach(({ code }, at) => {
    if (sites.findIndex((other) => other.code === code) < at)
      context.addIssue({
        code: 'custom',
        path: [at, 'code'],
        message: 'names a site a second time; give each site a code of its own',
      });
  });
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

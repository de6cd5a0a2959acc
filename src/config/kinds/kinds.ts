/**
 * The kinds of values a setting can have. A kind says what is expected in words, reads what was written, writes it back
 * for people, and describes itself as JSON Schema; everything else about settings is made from these.
 */

import { validate as isCronExpression } from 'node-cron';
import { STATE_NAMES, stateName, stateValue } from '../../domain/purchases/states.ts';
import { formatDuration, parseDuration } from '../../domain/values/duration.ts';
import { isShortened, shownAddress } from '../../domain/values/shown-address.ts';
import { DAY, type Milliseconds } from '../../domain/values/time.ts';
import { readAddressRange, writeAddressRange } from './address-range.ts';
import { OWN_NAME } from './names.ts';

export interface Kind<T> {
  /** Completes the sentence "… is not …". */
  readonly expected: string;
  /** The JSON Schema of the values that the file may hold. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The meaning of a value, or undefined when it is not of this kind. Variables and `${…}` bring text, YAML also numbers. */
  readonly read: (value: unknown) => T | undefined;
  /** The value in the words of the settings; never called for a secret. */
  readonly write: (value: T) => unknown;
  /** Whether the value is an address, of which only scheme and host are shown: the rest may give access. */
  readonly isAddress?: boolean;
  /** Whether the value is never shown. */
  readonly secret?: boolean;
  /** The part of a secret that may be shown all the same. */
  readonly outline?: (value: T) => string;
  /** The problem of a value that is not of this kind, where that says more than `expected`; shows nothing of a secret. */
  readonly fault?: (value: unknown) => string | undefined;
  /** Names from which the error suggests one. */
  readonly names?: readonly string[];
}

const same = <T>(value: T): unknown => value;
/** Any value may be taken from the environment, so every JSON Schema lets a `${NAME}` pass. */
export const orPlaceholder = (pattern: string) => `^(?:${pattern})$|\\$\\{`;

/** A kind of text. `meant` answers what a text stands for, true when that is the text itself, and false for a text of another kind. */
export function textKind(
  expected: string,
  json: Readonly<Record<string, unknown>>,
  meant: (value: string) => string | boolean,
  more: Partial<Kind<string>> = {},
): Kind<string> {
  const read = (value: unknown): string | undefined => {
    const found = typeof value === 'string' && meant(value);
    return found === true ? (value as string) : found === false ? undefined : found;
  };
  return { expected, json: { type: 'string', ...json }, read, write: same, ...more };
}

/** Text that is not empty. A number is refused: YAML has already lost its zeros in front. */
export const text = textKind('text', { minLength: 1 }, (value) => value !== '');

/** A password: text that is never shown. */
export const password: Kind<string> = { ...text, secret: true };

/** A name that a person gives to a site. */
export const ownName = textKind(
  'a name of up to 63 small letters, digits, - and _ that begins with a letter or digit',
  { pattern: orPlaceholder(OWN_NAME.source.slice(1, -1)) },
  (value) => OWN_NAME.test(value),
);

/** One of a few words, or of many that `expected` sums up. */
export function oneOf<const T extends string>(words: readonly T[], expected = `one of ${words.join(', ')}`): Kind<T> {
  return {
    expected,
    json: { enum: words },
    read: (value) => words.find((word) => word === value),
    write: same,
    names: words,
  };
}

const LONGEST: Milliseconds = 3_650 * DAY;

/** A duration that is longer than nothing and shorter than ten years. */
export const duration: Kind<Milliseconds> = {
  expected: 'a duration such as 250ms, 5s, 10m, 24h or 30d',
  json: { type: 'string', pattern: orPlaceholder('\\d+(?:ms|s|m|h|d)') },
  read: (value) => {
    const length = typeof value === 'string' ? parseDuration(value) : null;
    return length === null || length <= 0 || length > LONGEST ? undefined : length;
  },
  write: formatDuration,
};

/** When a purchase is stuck: a duration, `never`, or `auto`, which is learned. */
export const limit: Kind<Milliseconds | null | 'auto'> = {
  expected: `${duration.expected}, auto or never`,
  json: { anyOf: [duration.json, { enum: ['auto', 'never'] }, { type: 'null' }] },
  read: (value) => (value === 'auto' ? value : value === 'never' || value === null ? null : duration.read(value)),
  write: (value) => (value === null ? 'never' : value === 'auto' ? value : formatDuration(value)),
  names: ['auto', 'never'],
};

/** How long something is kept: a duration, or `forever`, which is read as infinity. */
export const durationOrForever: Kind<Milliseconds> = {
  expected: `${duration.expected}, or forever`,
  json: { anyOf: [duration.json, { const: 'forever' }] },
  read: (value) => (value === 'forever' ? Number.POSITIVE_INFINITY : duration.read(value)),
  write: (value) => (value === Number.POSITIVE_INFINITY ? 'forever' : formatDuration(value)),
};

/** A number within bounds. */
export function number(expected: string, fits: (value: number) => boolean, json: Record<string, unknown>): Kind<number> {
  return {
    expected,
    json: { anyOf: [json, { type: 'string', pattern: '^\\$\\{' }] },
    read: (value) => {
      const given = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
      return typeof given === 'number' && Number.isFinite(given) && fits(given) ? given : undefined;
    },
    write: same,
  };
}

/** A whole number within bounds. */
export function whole(least: number, most: number): Kind<number> {
  return number(
    `a whole number from ${least} to ${most}`,
    (value) => Number.isInteger(value) && value >= least && value <= most,
    { type: 'integer', minimum: least, maximum: most },
  );
}

/** `true` or `false`. */
export const flag: Kind<boolean> = {
  expected: 'true or false',
  json: { type: 'boolean' },
  read: (value) => (typeof value === 'boolean' ? value : value === 'true' ? true : value === 'false' ? false : undefined),
  write: same,
};

function httpUrl(value: string): URL | undefined {
  const url = /^https?:\/\//i.test(value) && !isShortened(value) ? URL.parse(value) : null;
  // Credentials in an address end up in logs and error messages of every library on the way.
  return url === null || url.username !== '' || url.password !== '' ? undefined : url;
}

/** The address of an API: operations are appended to it. */
export const baseUrl = textKind(
  'an http or https address without credentials, query and fragment',
  { pattern: orPlaceholder('https?://[^?#]+') },
  (value) => {
    const url = httpUrl(value);
    return url !== undefined && !/[?#]/.test(value + url.search + url.hash) && url.href.replace(/\/+$/, '');
  },
  { write: shownAddress, isAddress: true },
);

export const receiverUrl = textKind(
  'an http or https address without credentials and fragment',
  { pattern: orPlaceholder('https?://[^#]+') },
  (value) => {
    const url = httpUrl(value);
    return url !== undefined && url.hash === '' && url.href;
  },
  { write: shownAddress, isAddress: true },
);

/** An address to which everyone may post who has it: a secret. */
export const secretUrl: Kind<string> = { ...receiverUrl, expected: 'an http or https address without credentials', secret: true };

/** An SMTP server; what is before the @ of its address gives access to it. */
export const smtpUrl = textKind(
  'the smtp or smtps address of a server such as smtps://user:password@smtp.example.com, with an @ in the user as %40',
  { pattern: orPlaceholder('smtps?://[^\\s/?#]+/?') },
  (value) => {
    const url = /^smtps?:\/\/[^\s/?#]+\/?$/i.test(value) ? URL.parse(value) : null;
    return url !== null && url.hostname !== '' && (url.username === '') === (url.password === '') && url.href;
  },
  { secret: true, outline: shownAddress },
);

const MAIL_ADDRESS = /^[^\s@<>,;:"()[\]\\]{1,64}@[^\s@<>,;:"()[\]\\]{1,190}$/;

/** The address of a mailbox, without a name. */
export const mailAddress = textKind('a mail address such as watch@example.com', {}, (value) => MAIL_ADDRESS.test(value));

/** A few mail addresses. */
export const mailAddresses: Kind<readonly string[]> = {
  expected: 'a list of 1 to 20 mail addresses such as ["ops@example.com"]',
  json: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 20 },
  read: (value) => {
    const isList = Array.isArray(value) && value.length >= 1 && value.length <= 20;
    return isList && value.every((each) => typeof each === 'string' && MAIL_ADDRESS.test(each)) ? value : undefined;
  },
  write: (value) => value.join(', '),
};

/** A Postgres connection string. Several hosts are allowed, which no URL parser reads, so only its beginning is checked. */
export const postgresUrl = textKind(
  'a connection string such as postgres://user:password@host:5432/database',
  {},
  (value) => /^postgres(?:ql)?:\/\/[^\s]+$/.test(value),
  { secret: true, outline: shownAddress },
);

/** A proxy, or none whatever the environment says; what is before the @ of its address gives access to it. */
export const proxy = textKind(
  'the http or https address of a proxy such as http://user:password@proxy.example:3128, or direct',
  {},
  (value) => {
    if (value === 'direct' || value === '') return 'direct';
    const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
    return url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.href;
  },
  { secret: true, outline: (value) => (value === 'direct' ? value : shownAddress(value)) },
);

/** An IANA time zone. */
export const timeZone = textKind(
  'a time zone such as Europe/Stockholm',
  { minLength: 1 },
  (value) => {
    try {
      // A fixed offset (+01:00) is a zone to Intl, and wrong for half of the year.
      return /^[A-Za-z]/.test(value) && new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone !== '';
    } catch {
      return false;
    }
  },
  { names: Intl.supportedValuesOf('timeZone') },
);

/** A time of recurring work, as a cron expression. */
export const cron = textKind(
  'a cron expression such as "0 8 * * *"',
  { pattern: orPlaceholder('\\S+(?: +\\S+){4,5}') },
  isCronExpression,
);

/** A range of addresses, at every port or at one; one address counts as the range of itself. */
export const addressRange = textKind(
  'a range of addresses such as 10.0.0.0/8 or fd00::/8, or one with a port such as 10.1.2.3:8443 or [fd00::5]:8443',
  { pattern: orPlaceholder('\\[?[0-9a-fA-F:.]+(?:/\\d{1,3})?\\]?(?::\\d{1,5})?') },
  (value) => {
    const range = readAddressRange(value);
    return range !== null && writeAddressRange(range);
  },
);

/** A Standard Webhooks signing secret. */
export const signingSecret = textKind(
  'whsec_ followed by base64 of 24 to 64 bytes; make one with: echo "whsec_$(openssl rand -base64 32)"',
  { pattern: orPlaceholder('whsec_[A-Za-z0-9+/]+={0,2}') },
  (value) => {
    const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] ?? '';
    const bytes = Buffer.from(encoded, 'base64');
    // Encoding it again finds lengths that no base64 has, which decoding quietly cuts.
    const whole = bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '');
    return whole && bytes.length >= 24 && bytes.length <= 64;
  },
  { secret: true },
);

/** A key that encrypts what is stored. */
export const encryptionKey = textKind(
  'a key of at least 32 characters (make one with: openssl rand -base64 32)',
  {},
  (value) => value.length >= 32,
  { secret: true },
);

/** A state's number as text: `17`, or as it is shown, `Unknown(17)`. */
const STATE_NUMBER = '^-?\\d{1,10}$|^Unknown\\(-?\\d{1,10}\\)$|\\$\\{';

/** A state by name or number; numbers that the specification does not list are allowed. */
export const state: Kind<number> = {
  expected: 'a state name or number',
  json: { anyOf: [{ enum: STATE_NAMES }, { type: 'integer' }, { type: 'string', pattern: STATE_NUMBER }] },
  read: (value) =>
    typeof value === 'string' || typeof value === 'number' ? (stateValue(String(value)) ?? undefined) : undefined,
  write: (value) => (stateName(value).startsWith('Unknown') ? value : stateName(value)),
  names: STATE_NAMES,
};

/** Checks of a subscriber's fields, as in the settings file: each answers the meaning, or the error with what to do. */
import { isIP } from 'node:net';
import { dialledBy, isThisMachine, judgeAddress, permission, permittedBy } from '../../channels/http/address.ts';
import {
  HEADER_VALUE,
  headerNameProblem,
  headersProblem,
  isHeaderName,
  isHeaderValue,
  UNSHOWN_NAME,
} from '../../config/kinds/headers.ts';
import { receiverUrl, signingSecret } from '../../config/kinds/kinds.ts';
import { OWN_NAME } from '../../config/kinds/names.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { addressKind } from '../../config/kinds/subscriber-kinds.ts';
import { EVENT_TYPES, type EventType } from '../../domain/events/system-event-types.ts';
import { STATE_NAMES, stateName, stateValue } from '../../domain/purchases/states.ts';
import { clause } from '../../domain/values/errors.ts';
import { isShortened } from '../../domain/values/shown-address.ts';

export type Checked<T> = { readonly is: T } | { readonly problem: string };

export const LONGEST_DESCRIPTION = 500;
/** A filter that lists more is a mistake. */
export const MOST_LISTED = 100;

/** A name as the settings file would take it. */
export function readName(value: string): Checked<string> {
  if (OWN_NAME.test(value)) return { is: value };
  return { problem: 'must be up to 63 small letters, digits, - and _, and begin with a letter or digit' };
}

/**
 * The address of a receiver. Names are resolved when they are dialled, so only addresses written as numbers can be judged
 * here; and without encryption only what the operator allowed is ever called.
 */
export function readUrl(
  value: string,
  { apiAllowAddresses }: { readonly apiAllowAddresses: readonly string[] },
): Checked<string> {
  if (isShortened(value)) return { problem: 'is shortened, as addresses are shown; give the whole address, or leave it out' };
  const kind = addressKind(value);
  if (kind !== 'webhook') {
    const broker = kind === 'nats' ? 'NATS' : 'RabbitMQ';
    return { problem: `leads to ${broker}: message brokers are named in the settings file only (subscribers), not here` };
  }
  const href = value.length > 2_000 ? undefined : receiverUrl.read(value);
  if (href === undefined) return { problem: `must be ${receiverUrl.expected}, of 2000 characters at most` };
  const { protocol, hostname } = new URL(href);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const judge = (address: string) => judgeAddress(address, dialledBy(new URL(href)), permission(apiAllowAddresses, 'api'));
  if (isIP(bare) !== 0) {
    const problem = judge(bare);
    return problem === null ? { is: href } : { problem: clause(problem) };
  }
  if (isThisMachine(hostname)) {
    const [first, second] = ['127.0.0.1', '::1'].map(judge);
    if (first && second) return { problem: `is this machine: ${clause(first)}` };
  }
  if (protocol === 'http:' && apiAllowAddresses.length === 0)
    return { problem: `must begin with https; http is only called at addresses that ${permittedBy('api')} lists` };
  return { is: href };
}

/** A signing secret of the caller's own; never repeated in the answer. */
export function readSecret(value: string): Checked<string> {
  const secret = signingSecret.read(value);
  return secret === undefined ? { problem: `must be ${signingSecret.expected}; or leave it out to get one` } : { is: secret };
}

/** Headers of a subscriber's own; of what is wrong, `name` is the header to blame, where there is one that may be shown. */
export function readHeaders(
  headers: Readonly<Record<string, unknown>>,
): { readonly is: Readonly<Record<string, string>> } | { readonly problem: string; readonly name: string | null } {
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name)) return { name: null, problem: UNSHOWN_NAME };
    const isGood = typeof value === 'string' && isHeaderValue(value);
    const problem = headerNameProblem(name) ?? (isGood ? null : `must be ${HEADER_VALUE}`);
    if (problem !== null) return { name, problem };
  }
  const values = headers as Readonly<Record<string, string>>;
  return headersProblem(values) ?? { is: values };
}

export function readType(value: string): Checked<EventType> {
  const type = EVENT_TYPES.find((each) => each === value);
  if (type !== undefined) return { is: type };
  return { problem: `is not an event type${suggestion(value.slice(0, 100), EVENT_TYPES)}; there are ${EVENT_TYPES.join(', ')}` };
}

export function readState(value: string): Checked<number> {
  const state = stateValue(value);
  if (state !== null) return { is: state };
  const hint = suggestion(value.slice(0, 100), STATE_NAMES);
  return { problem: `is no state${hint}; give a number or one of ${STATE_NAMES.join(', ')}` };
}

/** A state in the words of a filter: its name, or the number that the specification does not list. */
export function stateWord(value: number): string | number {
  const name = stateName(value);
  return name.startsWith('Unknown') ? value : name;
}

/** Managing subscribers, for API and command line. */

import {
  newAddressHash,
  newSigningSecret,
  type OpenedSubscriber,
  openStored,
  type SigningKey,
  sealKeys,
  sealOptions,
  sealUrl,
  unreadable,
} from '../../channels/outgoing/sealed.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { newSigningKey } from '../../config/kinds/signing-key.ts';
import { REFUSED_CREDENTIALS } from '../../domain/deliveries/subscriber-health.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import { AppError } from '../../domain/values/errors.ts';
import { DAY, type Instant, type Milliseconds } from '../../domain/values/time.ts';
import type { Queries } from '../../postgres/connection/database.ts';
import { bringForward } from '../../postgres/deliveries/bring-forward.ts';
import { subscriberNames } from '../../postgres/reports/explain.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import {
  deleteSubscriber,
  insertSubscriber,
  type ReachChanges,
  replaceKeys,
  suppressForDeleted,
  updateSubscriber,
} from '../../postgres/subscribers/changes.ts';
import {
  type BodyFormat,
  findSubscriber,
  readSubscribers,
  type StoredSubscriber,
} from '../../postgres/subscribers/subscribers.ts';
import type { Secrets } from '../../runtime/secrets/secrets.ts';
import { sealingNow } from './key-change.ts';
import { Refused } from './refused.ts';
import { requireSameOrigin } from './same-origin.ts';

export { isSubscriberKnown, subscriberNames } from '../../postgres/reports/explain.ts';
export {
  findSubscriber,
  listSubscribers,
  readSubscribers,
  type StoredSubscriber,
  subscriberPage,
} from '../../postgres/subscribers/subscribers.ts';

export interface SubscriberDeps {
  readonly sql: Queries;
  /** Null: there is no key, so nothing secret can be stored. */
  readonly secrets: Secrets | null;
}

/** Which events a subscriber gets; null: all. */
export interface EventFilter {
  readonly types: readonly string[] | null;
  readonly sites: readonly string[] | null;
  readonly states: readonly number[] | null;
  readonly description: string | null;
}

/** Format, headers and signing of a subscriber's deliveries; an undefined field stays as it is, or has its default. */
export interface ReceiverOptions {
  readonly format?: BodyFormat | undefined;
  /** All of them, by name; null: none. */
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  /** Whether an ed25519 key signs too. */
  readonly asymmetric?: boolean | undefined;
}

/** How long a replaced key goes on signing by default. */
export const DEFAULT_OVERLAP: Milliseconds = DAY;
/** An operator who needs longer has lost sight of the change. */
export const MOST_OVERLAP: Milliseconds = 30 * DAY;
/** Receivers look at every signature; more keys at once are a sign of a loop somewhere. */
const MOST_KEYS = 5;

/** The subscriber of this name; throws Refused. */
export async function requireSubscriber(sql: Queries, name: string): Promise<StoredSubscriber> {
  const row = await findSubscriber(sql, name);
  if (row !== null) return row;
  const hint = suggestion(name, await subscriberNames(sql));
  throw new Refused('subscriber_not_found', `there is no subscriber ${JSON.stringify(name)}${hint}`);
}

/** The error about a name that no subscriber has or had. */
export async function unknownText(sql: Queries, name: string): Promise<string> {
  const names = await subscriberNames(sql);
  const known = names.length === 0 ? 'there are none' : `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`;
  return `is not a subscriber${suggestion(name, names)}; ${known}`;
}

/** Adds a subscriber; answers it with its secret, which cannot be read again. */
export async function addSubscriber(
  { sql, secrets }: SubscriberDeps,
  {
    name,
    url,
    secret = newSigningSecret(),
    format = 'standard',
    headers = null,
    asymmetric = false,
    ...filters
  }: EventFilter & ReceiverOptions & { name: string; url: string; secret?: string | undefined },
): Promise<{ row: StoredSubscriber; secret: string }> {
  const box = await sealingNow(sql, requireSecrets(secrets));
  await requireCommonKey(sql, box);
  const added = await insertSubscriber(sql, {
    name,
    ...filters,
    url: sealUrl(box, name, url),
    keys: sealKeys(box, name, [{ key: secret, until: null }]),
    options: sealOptions(box, name, { headers: headers ?? {}, signingKey: asymmetric ? newSigningKey() : null }),
    format,
    addressHash: newAddressHash(),
  });
  const exists = `there is a subscriber ${JSON.stringify(name)} already; change it, or choose another name`;
  if (!added) throw new Refused('subscriber_exists', exists);
  return { row: await requireSubscriber(sql, name), secret };
}

/** Changes of a subscriber; undefined fields stay. */
export type Changes = { readonly [Key in keyof EventFilter]?: EventFilter[Key] | undefined } & ReceiverOptions & {
    readonly url?: string | undefined;
    readonly status?: 'active' | 'off' | undefined;
  };

/**
 * Changes what is given of a subscriber. Turned on again, it is sent what waits. One that the configuration names can be
 * switched off and on here, and nothing else: whether it is on is not in the configuration.
 */
export async function changeSubscriber(
  { sql, secrets }: SubscriberDeps,
  name: string,
  changes: Changes,
): Promise<StoredSubscriber> {
  const { url, status, format, headers, asymmetric, ...filters } = changes;
  for (;;) {
    const row = await (isOnlyStatus(changes) ? requireSubscriber(sql, name) : requireOwn(sql, name));
    const next = statusChange(row, status);
    const box = secrets === null ? null : await sealingNow(sql, secrets);
    const reach = reachChanges(box, row, { url, format, headers, asymmetric });
    // Another caller may change the options at the same time; then those are what this change starts from.
    if ((await updateSubscriber(sql, row.id, { ...filters, reach, status: next })) || reach?.was === undefined) {
      // The reason for which deliveries waited is gone.
      const isCured = reach?.options !== undefined && isRefusing(row);
      if (next?.is === 'active' || reach?.isElsewhere || isCured)
        await bringForward(sql, row.id, { kind: 'all' }, await databaseNow(sql));
      return requireSubscriber(sql, name);
    }
  }
}

/** The status with its reason, where it changes: a subscriber that is off already keeps the reason it was switched off for. */
function statusChange(row: StoredSubscriber, status: Changes['status']) {
  if (status === undefined || status === row.status) return undefined;
  return { is: status, reason: status === 'off' ? 'It was switched off by hand.' : null };
}

function isOnlyStatus({ status, ...others }: Changes): boolean {
  return status !== undefined && Object.values(others).every((value) => value === undefined);
}

function reachChanges(
  secrets: Secrets | null,
  row: StoredSubscriber,
  { url, format, headers, asymmetric }: Pick<Changes, 'url' | 'format' | 'headers' | 'asymmetric'>,
): ReachChanges | undefined {
  const { name, addressHash: was } = row;
  const addressHash = newAddressHash();
  if (url === undefined && headers === undefined && asymmetric === undefined) {
    return format === undefined ? undefined : { format, addressHash, isElsewhere: false };
  }
  const box = requireSecrets(secrets);
  // Under another key the address could be stored, and what it goes with not be read with it.
  const { url: before, options } = requireOpened(box, row);
  const isElsewhere = url !== undefined && url !== before;
  if (url !== undefined && headers === undefined) requireSameOrigin(name, { before, url, headers: options.headers });
  const address = url === undefined ? undefined : sealUrl(box, name, url);
  // With `was` also for an address alone: headers that are added meanwhile must not go there.
  const version = { format, addressHash, isElsewhere, url: address, was };
  if (headers === undefined && asymmetric === undefined) return version;
  const key = asymmetric === true ? (options.signingKey ?? newSigningKey()) : null;
  const changed = {
    headers: headers === undefined ? options.headers : (headers ?? {}),
    signingKey: asymmetric === undefined ? options.signingKey : key,
  };
  return { ...version, options: sealOptions(box, name, changed) };
}

/** Whether a subscriber is paused because it refused our credentials: another secret or header may cure that. */
function isRefusing({ health }: StoredSubscriber): boolean {
  return REFUSED_CREDENTIALS.includes(health?.cause ?? '');
}

/** Takes a subscriber away; what waits for it is suppressed, and its name is free again. */
export async function removeSubscriber(sql: Queries, name: string): Promise<void> {
  const row = await requireOwn(sql, name);
  await deleteSubscriber(sql, row.id);
  await suppressForDeleted(sql);
}

/**
 * Gives a subscriber a new secret; the old one goes on signing beside it for a while. Throws AppError `invalid` for one
 * longer than MOST_OVERLAP, and Refused when too many sign already.
 */
export async function rotateSecret(
  { sql, secrets }: SubscriberDeps,
  name: string,
  { overlap, now }: { overlap: Milliseconds; now: Instant },
): Promise<{ secret: string; oldKeysUntil: Instant | null }> {
  const [asked, most] = [formatDuration(overlap), formatDuration(MOST_OVERLAP)];
  if (overlap > MOST_OVERLAP)
    throw new AppError('invalid', `the old secret cannot sign for ${asked} more; give an overlap of ${most} at most`);
  const box = await sealingNow(sql, requireSecrets(secrets));
  for (;;) {
    const row = await requireOwn(sql, name);
    const { keys: current } = requireOpened(box, row);
    const secret = newSigningSecret();
    const until = Math.floor(now + overlap);
    const old = current
      .map(({ key, until: end }): SigningKey => ({ key, until: Math.min(end ?? until, until) }))
      .filter(({ until: end }) => end !== null && end > now);
    if (old.length >= MOST_KEYS) throw new Refused('too_many_secrets', tooManyKeys(name, current));
    const oldKeysUntil = old.length === 0 ? null : Math.max(...old.map(({ until: end }) => end ?? 0));
    const keys = sealKeys(box, name, [{ key: secret, until: null }, ...old]);
    // Another caller may rotate at the same time; then that secret is among the old ones.
    if (await replaceKeys(sql, row.id, { keys, addressHash: newAddressHash(), was: row.addressHash, oldKeysUntil })) {
      if (isRefusing(row)) await bringForward(sql, row.id, { kind: 'all' }, await databaseNow(sql));
      return { secret, oldKeysUntil };
    }
  }
}

/** The error about too many secrets: each signs until the moment promised, unless the operator ends all of them at once. */
function tooManyKeys(name: string, keys: readonly SigningKey[]): string {
  const first = new Date(Math.min(...keys.map(({ until }) => until ?? Number.POSITIVE_INFINITY))).toISOString();
  return `${MOST_KEYS} secrets of ${JSON.stringify(name)} sign already, one of them until ${first}; rotate after that, or end the old ones at once with an overlap of 0s`;
}

/** Why nothing can be sent to a subscriber that is stored, or null. */
export function unreachableReason({ secrets }: Pick<SubscriberDeps, 'secrets'>, row: StoredSubscriber): string | null {
  if (row.origin !== 'api' || openStored(secrets, row) !== null) return null;
  return unreadable(secrets);
}

/** The subscriber of this name, if it may be changed here; throws Refused. */
export async function requireOwn(sql: Queries, name: string): Promise<StoredSubscriber> {
  const row = await requireSubscriber(sql, name);
  if (row.origin !== 'configuration') return row;
  const why = `${JSON.stringify(name)} is named by the configuration; change ${placeOf(row)} and restart the daemon`;
  throw new Refused('subscriber_configured', why);
}

/** Where the settings name one of theirs. */
function placeOf({ name, kind, audience }: StoredSubscriber): string {
  if (audience === 'people' && name !== '@slack') return `${kind}.channels in the settings file (PURCHASE_WATCH_CONFIG)`;
  if (audience === 'people') return 'SLACK_WEBHOOK_URL';
  const inFile = `subscribers.${name} in the settings file (PURCHASE_WATCH_CONFIG)`;
  return name === 'default' ? `WEBHOOK_URL and WEBHOOK_SECRET, or ${inFile}` : inFile;
}

function requireSecrets(secrets: Secrets | null): Secrets {
  if (secrets !== null) return secrets;
  throw new Refused(
    'secrets_key_missing',
    'SECRETS_KEY is not set, so secrets cannot be stored encrypted; make one with: openssl rand -base64 32, set it for every daemon, and restart',
  );
}

/** Under a mistaken key one would be added that no daemon can read: the rows of other subscribers show it. */
async function requireCommonKey(sql: Queries, secrets: Secrets): Promise<void> {
  const others = (await readSubscribers(sql)).filter(({ origin }) => origin === 'api');
  if (others.length === 0 || others.some((row) => openStored(secrets, row) !== null)) return;
  const names = others.map(({ name }) => JSON.stringify(name));
  const all = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ');
  throw wrongKey(all, 'delete what it encrypted');
}

function requireOpened(secrets: Secrets, row: StoredSubscriber): OpenedSubscriber {
  const opened = openStored(secrets, row);
  if (opened === null) throw wrongKey(JSON.stringify(row.name), 'delete the subscriber');
  return opened;
}

function wrongKey(whose: string, orElse: string): Refused {
  const why = `what is stored of ${whose} was encrypted with another SECRETS_KEY; set that one again, or ${orElse} and add it again`;
  return new Refused('secrets_key_wrong', why);
}

/** Short digests of settings, by which a command or a daemon notices that a running daemon uses other settings. */
import { createHash } from 'node:crypto';
import { stateName } from '../domain/purchases/states.ts';
import { counted } from '../domain/values/counts.ts';
import { describeSettings } from './describe.ts';
import type { Settings } from './settings.ts';

/** Which settings a group has, by the first part of their names; the order is that of remarks. */
const GROUPS = {
  sites: ['sites'],
  polling: ['polling', 'states'],
  alerts: ['slack', 'teams', 'email', 'alerts', 'alertmanager'],
  receivers: ['subscribers', 'webhooks', 'SECRETS_KEY'],
} as const;

export type SettingsGroup = keyof typeof GROUPS;

/** The version of the program, and a digest for each setting that several daemons must have alike, by its name in the file. */
export interface SettingsDigests {
  readonly version: string;
  /** The number of the newest schema file of the program; not in digests of a command. */
  readonly schema?: string;
  readonly [setting: string]: string;
}

/** Two bytes: enough to notice other settings. */
const HEX_DIGITS = 4;

/** The key of the installation, as far as digests need it. */
interface DigestKey {
  /** Names of the keys that open what is stored, the one that seals first. */
  readonly keyIds: readonly string[];
  /** An HMAC of a text. */
  fingerprint(text: string): Buffer;
}

/**
 * Digests of settings, with the version of this program: another one may write the same settings differently. The first half of
 * each covers what `config` shows, so no secret and no path of an address; the second half covers everything under the key of the
 * installation: without that key no guess of a secret can be tested. Where no key is set, there is no second half.
 */
export function settingsDigests(settings: Settings, version: string, key: DigestKey | null): SettingsDigests {
  const shown = describeSettings(settings);
  const digests = Object.entries(valuesOf(settings)).map(([name, value]) => {
    const lines = shown.filter((line) => line.name === name || line.name.startsWith(`${name}.`));
    const open = createHash('sha256').update(JSON.stringify(lines.map((line) => [line.name, line.value])));
    const whole = key
      ?.fingerprint(`setting ${name} ${textOf(value)}`)
      .toString('hex')
      .slice(0, HEX_DIGITS);
    return [name, open.digest('hex').slice(0, HEX_DIGITS) + (whole ?? '')];
  });
  return { version, ...Object.fromEntries(digests), [KEYS]: key?.keyIds.join(' ') ?? '' };
}

/** Names of keys, from which no key can be derived. */
const KEYS = 'SECRETS_KEY';
const sealingKey = (digests: SettingsDigests): string | undefined => digests[KEYS]?.split(' ', 1)[0];

/** The values that several daemons must have alike, by their names in the file; a site, a subscriber or a channel is one value. */
function valuesOf({ sites, policy, channels, slack, subscribers, webhooks, store }: Settings) {
  const { states, fallback, ...polling } = policy;
  return {
    ...within('sites', Object.fromEntries(sites.map((site) => [site.name, site]))),
    ...within('polling', polling),
    ...within('states', {
      ...Object.fromEntries([...states].map(([state, plan]) => [stateName(state), plan])),
      default: fallback,
    }),
    ...Object.fromEntries(channels.map((channel) => [`${channel.kind}.channels.${channel.name}`, channel])),
    ...within('slack', slack),
    ...within('subscribers', Object.fromEntries(subscribers.map((subscriber) => [subscriber.name, subscriber]))),
    ...within('webhooks', webhooks),
    ...within('store', store),
  };
}

function within(section: string, values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${section}.${name}`, value]));
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each instanceof Map ? [...each] : each)) ?? '';
}

const ABOUT_PROGRAM = ['version', 'schema'];

/** Names of the settings in which two daemons differ; under different keys only what `config` shows is compared, beside the keys. */
export function differingSettings(own: SettingsDigests, other: SettingsDigests): string[] {
  const names = new Set([...Object.keys(own), ...Object.keys(other)]);
  for (const name of ABOUT_PROGRAM) names.delete(name);
  const areComparable = sealingKey(own) === sealingKey(other);
  const part = (digest: string | undefined, name: string) =>
    areComparable || name === KEYS ? digest : digest?.slice(0, HEX_DIGITS);
  return [...names].filter((name) => part(own[name], name) !== part(other[name], name)).sort();
}

/** Names of the settings in which daemons of the same version differ, as a list in words; null when none does. */
export function differingText(replicas: readonly (SettingsDigests | null)[]): string | null {
  const known = replicas.filter((each) => each !== null);
  const names = known.flatMap((one, index) =>
    known.slice(index + 1).flatMap((other) => (one.version === other.version ? differingSettings(one, other) : [])),
  );
  return names.length === 0 ? null : listedSettings([...new Set(names)].sort());
}

/** Names of settings as a list in words, the first few of many; never values. */
export function listedSettings(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? [counted(names.length - MOST_NAMES, 'other setting')] : [];
  return new Intl.ListFormat('en').format([...names.slice(0, MOST_NAMES), ...more]);
}

const MOST_NAMES = 10;

export type SettingsComparison = ReturnType<typeof compareSettings>;

/**
 * Compares groups of settings with those of running daemons; null in place of a daemon that wrote no digests. Answers the groups of which at
 * least one daemon of this version uses other settings, this version, and the others that run: their digests cannot be compared.
 */
export function compareSettings(
  own: SettingsDigests,
  replicas: readonly (SettingsDigests | null)[],
  wanted: readonly SettingsGroup[] = Object.keys(GROUPS) as SettingsGroup[],
) {
  const known = replicas.filter((each) => each !== null);
  const alike = known.filter(({ version }) => version === own.version);
  const versions = new Set(known.map(({ version }) => version).filter((version) => version !== own.version));
  const sections = new Set(alike.flatMap((each) => differingSettings(own, each)).map((name) => name.split('.', 1)[0]));
  const groups = wanted.filter((group) => GROUPS[group].some((section) => sections.has(section)));
  return { groups, own: own.version, versions: [...versions].sort() };
}

/** Differences of settings as the rest of a sentence that names the own settings first; null without a difference. */
export function comparisonText({ groups, own, versions }: SettingsComparison): string | null {
  if (groups.length > 0) return `a running daemon uses other settings for ${listed(groups)}`;
  if (versions.length === 0) return null;
  return `a running daemon has version ${listed(versions)}, this program ${own}: whether both use the same settings is not known`;
}

const listed = (words: readonly string[]): string => new Intl.ListFormat('en').format(words);

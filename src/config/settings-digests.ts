/** Short digests of groups of settings, by which a command notices that a running daemon uses other settings than its terminal. */
import { createHash } from 'node:crypto';
import type { Settings } from './settings.ts';

/** Which settings a group has; the order is that of remarks. */
const GROUPS = {
  sites: ({ sites }: Settings) => sites,
  polling: ({ policy }: Settings) => policy,
  alerts: ({ slack, channels }: Settings) => ({ slack, channels }),
  receivers: ({ subscribers, webhooks, secretsKey, secretsKeyPrevious }: Settings) => ({
    ...{ subscribers, webhooks },
    ...{ secretsKey, secretsKeyPrevious },
  }),
} as const;

export type SettingsGroup = keyof typeof GROUPS;

/** The version of the program, and a digest for each group. */
export type SettingsDigests = { readonly [Key in SettingsGroup | 'version']: string };

/** Two bytes: enough to notice other settings, too little to confirm a guess of a secret. */
const HEX_DIGITS = 4;

/** Digests of settings, secrets included, with the version of this program: another one may write the same settings differently. */
export function settingsDigests(settings: Settings, version: string): SettingsDigests {
  const digests = Object.entries(GROUPS).map(([group, read]) => [group, digestOf(read(settings))]);
  return { version, ...Object.fromEntries(digests) };
}

function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_, each) => (each instanceof Map ? [...each] : each));
  return createHash('sha256').update(text).digest('hex').slice(0, HEX_DIGITS);
}

/** What digests of running daemons say beside those of this process. */
export interface SettingsComparison {
  /** Groups of which at least one daemon of this version uses other settings. */
  readonly groups: readonly SettingsGroup[];
  /** The version of this process. */
  readonly own: string;
  /** Other versions that run: their digests cannot be compared. */
  readonly versions: readonly string[];
}

/** Compares groups of settings with those of running daemons; null in place of a daemon that wrote no digests. */
export function compareSettings(
  own: SettingsDigests,
  daemons: readonly (SettingsDigests | null)[],
  wanted: readonly SettingsGroup[] = Object.keys(GROUPS) as SettingsGroup[],
): SettingsComparison {
  const known = daemons.filter((each) => each !== null);
  const alike = known.filter(({ version }) => version === own.version);
  const versions = new Set(known.map(({ version }) => version).filter((version) => version !== own.version));
  const groups = wanted.filter((group) => alike.some((each) => each[group] !== own[group]));
  return { groups, own: own.version, versions: [...versions].sort() };
}

/** That comparison as the rest of a sentence that names the own settings first; null without a difference. */
export function comparisonText({ groups, own, versions }: SettingsComparison): string | null {
  if (groups.length > 0) return `a running daemon uses other settings for ${listed(groups)}`;
  if (versions.length === 0) return null;
  return `a running daemon has version ${listed(versions)}, this program ${own}: whether both use the same settings is not known`;
}

const listed = (words: readonly string[]): string => new Intl.ListFormat('en').format(words);

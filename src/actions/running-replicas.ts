/** The daemons that run on a database, and whether they use the settings of this process. */
import type { Settings } from '../config/settings.ts';
import {
  compareSettings,
  comparisonText,
  differingText,
  type SettingsGroup,
  settingsDigests,
} from '../config/settings-digests.ts';
import { turnsAmong, turnsText } from '../domain/replicas/named.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { type LivingReplica, livingReplicas } from '../postgres/shards/living-replicas.ts';
import { packageVersion } from '../runtime/process/package-version.ts';
import { isGone } from '../runtime/process/process-identity.ts';
import { secretsOf } from './subscribers/secrets.ts';

export { daemonSilence, livingReplicas } from '../postgres/shards/living-replicas.ts';

/** The daemons that are alive: their lease holds, and their process was not seen to be gone. */
export async function runningReplicas(sql: Sql): Promise<LivingReplica[]> {
  return (await livingReplicas(sql)).filter(({ process }) => !isGone(process));
}

/** How a living daemon's settings differ in these groups (all unless given), as the rest of a sentence; null when none does. */
export async function otherSettings(sql: Sql, settings: Settings, groups?: readonly SettingsGroup[]): Promise<string | null> {
  const replicas = (await runningReplicas(sql)).map((each) => each.settings);
  return comparisonText(compareSettings(settingsDigests(settings, packageVersion(), secretsOf(settings)), replicas, groups));
}

/**
 * In what running daemons differ among each other: names of settings, as a list in words, and the turns that they take with each shard for
 * that, null when one of them knows everything. Null when they have the same settings, as far as is known.
 */
export function replicasDiffer(replicas: readonly LivingReplica[]) {
  const turns = turnsAmong(replicas);
  const settings = differingText(replicas.map((each) => each.settings)) ?? (turns === null ? null : 'sites or subscribers');
  return settings === null ? null : { settings, turns };
}

/** The difference as a clause: the settings by their names, and the turns that purchases and deliveries wait for. */
export function differText({ settings, turns }: NonNullable<ReturnType<typeof replicasDiffer>>): string {
  return `the running daemons have different values of ${settings}${turns === null ? '' : `: ${turnsText(turns)}`}`;
}

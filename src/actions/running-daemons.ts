/** The daemons that run on a database, and whether they use the settings of this process. */
import type { Settings } from '../config/settings.ts';
import { compareSettings, comparisonText, type SettingsGroup, settingsDigests } from '../config/settings-digests.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { type LivingReplica, livingReplicas } from '../postgres/shards/replicas.ts';
import { packageVersion } from '../runtime/process/package-version.ts';
import { isGone } from '../runtime/process/process-identity.ts';

/** The daemons that are alive: their lease holds, and their process was not seen to be gone. */
export async function livingDaemons(sql: Sql): Promise<LivingReplica[]> {
  return (await livingReplicas(sql)).filter(({ process }) => !isGone(process));
}

/** How a living daemon's settings differ in these groups (all unless given), as the rest of a sentence; null when none does. */
export async function otherSettings(sql: Sql, settings: Settings, groups?: readonly SettingsGroup[]): Promise<string | null> {
  const daemons = (await livingDaemons(sql)).map((each) => each.settings);
  return comparisonText(compareSettings(settingsDigests(settings, packageVersion()), daemons, groups));
}

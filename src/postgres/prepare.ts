/** The work of every start of the daemon at the database, before anything runs. */

import { settleFeedEra } from './events/feed.ts';
import type { Migrated } from './migrations/migrate.ts';
import { migrateOrExplain } from './migrations/migrate-or-explain.ts';
import type { Store } from './open.ts';
import { followNames, type Naming } from './shards/named.ts';
import { suppressForDeleted } from './subscribers/changes.ts';
import { namesOfTheApi } from './subscribers/subscribers.ts';

export interface Prepared extends Migrated {
  /** Subscribers that the API added and the configuration names from now on. */
  readonly takenOver: readonly string[];
}

interface Wanted {
  readonly migrations: string;
  readonly naming: Naming;
  /** Is given what is done from now on, in words for people. */
  readonly onStep: (step: string) => void;
  /** Ends the migration. */
  readonly signal?: AbortSignal | undefined;
}

/** Brings the schema up to date, and has the sites and subscribers in it that the configuration names. Takes none away. */
export async function prepareStore(
  { sql, databaseUrl, sessionLimits }: Pick<Store, 'sql' | 'databaseUrl' | 'sessionLimits'>,
  { migrations, naming, onStep, signal }: Wanted,
): Promise<Prepared> {
  const migrated = await migrateOrExplain(databaseUrl, migrations, { onStep, signal, agreed: { sessionLimits } });
  onStep('bringing sites and subscribers in line with the configuration');
  await settleFeedEra(sql);
  const takenOver = await namesOfTheApi(
    sql,
    naming.definitions.map(({ name }) => name),
  );
  await followNames(sql, { ...naming, replica: null });
  await suppressForDeleted(sql);
  return { ...migrated, takenOver };
}

/** What every start of the daemon does with the database before anything runs. */

import { settleFeedEra } from './events/feed.ts';
import { migrateOrExplain } from './migrations/migrate-or-explain.ts';
import type { Store } from './open.ts';
import { syncSites } from './polling/sites.ts';
import { suppressForDeleted } from './subscribers/changes.ts';
import { namesOfTheApi, type SubscriberDefinition, syncSubscribers } from './subscribers/subscribers.ts';

export interface Prepared {
  /** The migrations that were missing. */
  readonly applied: readonly string[];
  /** What an administrator has to do, because this role may not. */
  readonly advice: string | undefined;
  /** Subscribers that the API added and the configuration names from now on. */
  readonly takenOver: readonly string[];
}

interface Wanted {
  /** The folder of migrations. */
  readonly migrations: string;
  readonly sites: readonly string[];
  readonly subscribers: readonly SubscriberDefinition[];
  /** Is given what is done from now on, in words for people. */
  readonly onStep: (step: string) => void;
  /** Ends the migration. */
  readonly signal?: AbortSignal | undefined;
}

/** Brings the schema up to date, and sites and subscribers in line with the configuration. */
export async function prepareStore(
  { sql, databaseUrl }: Pick<Store, 'sql' | 'databaseUrl'>,
  { migrations, sites, subscribers, onStep, signal }: Wanted,
): Promise<Prepared> {
  const { applied, advice } = await migrateOrExplain(databaseUrl, migrations, onStep, signal);
  onStep('bringing sites and subscribers in line with the configuration');
  await settleFeedEra(sql);
  await syncSites(sql, sites);
  const takenOver = await namesOfTheApi(
    sql,
    subscribers.map(({ name }) => name),
  );
  await syncSubscribers(sql, subscribers);
  await suppressForDeleted(sql);
  return { applied, advice, takenOver };
}

/** The system as it runs: versions, settings with their origin, keys that end soon, and what doctor finds without calling others. */
import { type ApiKey, ENDING_KEY_ADVICE, endingKeys } from '../../config/api-keys.ts';
import type { DescribedSetting } from '../../config/describe.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { schemaVersion } from '../../postgres/migrations/migrate.ts';
import { serverFacts } from '../../postgres/reports/inspect.ts';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { checked, type Finding, reporterOf } from '../overview/finding.ts';
import { checkNow } from '../overview/needs.ts';

/** The page waits for it. */
const WITHIN: Milliseconds = 3_000;

export interface SystemWanted {
  readonly keys: readonly ApiKey[];
  /** What `purchase-watch config` shows of the settings that this process was started with. */
  readonly described: readonly DescribedSetting[];
}

/** A warning for each key of the API that ends soon. */
export function keyFindings(keys: readonly ApiKey[]): Finding[] {
  const report = reporterOf('settings');
  return endingKeys(keys, Date.now()).map(({ name, detail }) =>
    report.warning(`the key ${name} of the API ${detail}`, ENDING_KEY_ADVICE),
  );
}

/** Reads the system; it calls neither sites nor receivers. */
export async function readSystem(sql: Sql, { keys, described }: SystemWanted) {
  const [facts, schema, found] = await Promise.all([
    serverFacts(sql),
    schemaVersion(sql),
    checked('daemons', WITHIN, (report) => checkNow(report, sql, { untested: false })),
  ]);
  return {
    versions: { package: packageVersion(), node: process.versions.node, postgres: facts.versionText, schema },
    database: { connections: facts.limits[0]!.used, maxConnections: facts.limits[0]!.most },
    keys: keys.map(({ name, scopes, expires }) => ({
      name,
      scopes: [...scopes],
      expiresAt: expires === null ? null : isoTime(expires),
    })),
    findings: [...keyFindings(keys), ...found].map((finding) => ({ ...finding })),
    settings: described.map(({ name, text, origin }) => ({ name, text, origin })),
  };
}

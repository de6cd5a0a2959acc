/** The page System of the console: versions, settings with their origin, keys that end soon, and what doctor finds without calling others. */
import { channelCeilings } from '../../config/channels.ts';
import type { DescribedSetting } from '../../config/describe.ts';
import type { Settings } from '../../config/settings.ts';
import { isoTimeOrNull, type Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { schemaVersion } from '../../postgres/migrations/schema.ts';
import { serverFacts } from '../../postgres/reports/inspect.ts';
import type { Expiry } from '../../runtime/http/certificates.ts';
import { packageVersion } from '../../runtime/process/package-version.ts';
import { wall } from '../../runtime/time.ts';
import { checked, type Finding, findingBody, reporterOf } from '../overview/finding.ts';
import { checkNow } from '../overview/needs.ts';
import { endingFindings } from '../overview/server.ts';
import { runningReplicas } from '../running-replicas.ts';
import { checkDeadMansSwitch } from './dead-mans-switch.ts';

/** The page waits for it. */
const WITHIN: Milliseconds = 3_000;
/** A daemon that started later than this need not have called the dead man's switch yet. */
const JUST_STARTED: Milliseconds = 3 * 60_000;

export interface SystemWanted {
  readonly keys: Settings['apiKeys'];
  /** Findings of the process that answers, see `ownFindings`. */
  own(): Promise<Finding[]>;
  /** The settings that this process was started with, as `purchase-watch config` shows them. */
  readonly described: readonly DescribedSetting[];
}

/** Findings that need a process with these settings: keys and certificates that end soon, calls of the dead man's switch. */
export async function ownFindings(sql: Sql, settings: OwnSettings, certificates: readonly Expiry[]): Promise<Finding[]> {
  const ending = endingFindings(settings.apiKeys, certificates, wall());
  if (settings.slack.deadMansSwitch === null) return ending;
  const isEarly = (await runningReplicas(sql)).every(({ startedAt }) => wall() - startedAt < JUST_STARTED);
  const deadMansSwitch = isEarly
    ? []
    : await checkDeadMansSwitch(reporterOf("dead man's switch"), sql, channelCeilings(settings));
  return [...ending, ...deadMansSwitch];
}

export type OwnSettings = Pick<Settings, 'apiKeys' | 'slack' | 'channels'>;

/** Reads the system; it calls neither sites nor receivers. */
export async function readSystem(sql: Sql, { keys, own, described }: SystemWanted) {
  const [facts, schema, mine, found] = await Promise.all([
    serverFacts(sql),
    schemaVersion(sql),
    own(),
    checked('daemons', WITHIN, (report) => checkNow(report, sql, { untested: false, server: true })),
  ]);
  return {
    versions: { package: packageVersion(), node: process.versions.node, postgres: facts.versionText, schema },
    database: { connections: facts.connectionLimits[0]!.used, maxConnections: facts.connectionLimits[0]!.most },
    keys: keys.map(({ name, scopes, expires }) => ({ name, scopes: [...scopes], expiresAt: isoTimeOrNull(expires) })),
    findings: [...mine, ...found].map(findingBody),
    settings: described.map(({ name, text, origin }) => ({ name, text, origin })),
  };
}

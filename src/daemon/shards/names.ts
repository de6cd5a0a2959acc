/**
 * Keeps sites and subscribers in line with what living replicas name, says what none names, and has people alerted when the
 * settings of two replicas differ for long.
 */
import { differingSettings, type SettingsDigests } from '../../config/settings-digests.ts';
import type { TroubleSeen } from '../../domain/replicas/loop-health.ts';
import { counted } from '../../domain/values/counts.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type DescribedReplica, followNames, type Naming, readUnnamed, type Unnamed } from '../../postgres/shards/named.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';

export interface NamesOptions {
  readonly sql: Sql;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly replica: string;
  readonly naming: Naming;
  /** Digests of this replica's settings. */
  readonly settings: SettingsDigests;
}

export interface Names {
  tick(): Promise<Milliseconds>;
  /** What to alert people about: settings that differ for long. */
  troubles(): readonly TroubleSeen[];
}

/** While something is unnamed or differs, and otherwise. */
const SOON: Milliseconds = 10_000;
const EVERY: Milliseconds = 30_000;
/** A rolling deploy of a few replicas is over by then. */
const DIFFER_FOR: Milliseconds = 5 * 60_000;
const MOST_NAMES = 10;

export function createNames({ sql, clock, log, replica, naming, settings }: NamesOptions): Names {
  /** What was logged last, as keys. */
  let said: ReadonlyMap<string, Unnamed> = new Map();
  const differing = createLasting(clock);
  const versions = createLasting(clock);
  let isVersionSaid = false;

  const sayUnnamed = (found: readonly Unnamed[]): void => {
    const now = new Map(found.map((each) => [`${each.kind} ${each.name}`, each]));
    for (const [key, each] of now) if (!said.has(key)) log.warn(...unnamedLine(each));
    for (const [key, { kind, name }] of said) if (!now.has(key)) log.info({ [kind]: name }, `${kind}.unnamed_over`);
    said = now;
  };

  const compare = (others: readonly DescribedReplica[]): void => {
    const known = others.flatMap((other) => other.settings ?? []);
    const alike = known.filter(({ version }) => version === settings.version);
    differing.note([...new Set(alike.flatMap((other) => differingSettings(settings, other)))].sort());
    versions.note(known.map(({ version }) => version).filter((version) => version !== settings.version));
    const isLong = versions.lasted() >= DIFFER_FOR;
    if (isLong && !isVersionSaid) {
      const detail = 'Daemons of different versions run. Their settings are not compared.';
      log.info({ own: settings.version, others: versions.found(), detail }, 'replica.other_version');
    }
    isVersionSaid = isLong;
  };

  return {
    tick: async () => {
      const { others, isUnnamed } = await followNames(sql, { ...naming, replica });
      compare(others);
      sayUnnamed(isUnnamed ? await readUnnamed(sql) : []);
      return said.size > 0 || differing.found().length > 0 ? SOON : EVERY;
    },
    troubles: () =>
      differing.lasted() < DIFFER_FOR
        ? []
        : [{ reason: 'settings_differ', for: differing.lasted(), error: differenceText(differing.found()) }],
  };
}

/** Findings, and for how long there have been some. */
function createLasting(clock: Pick<Clock, 'monotonic'>) {
  let found: readonly string[] = [];
  let since: Milliseconds | null = null;
  return {
    note: (now: readonly string[]): void => {
      found = now;
      since = now.length === 0 ? null : (since ?? clock.monotonic());
    },
    found: () => found,
    lasted: (): Milliseconds => (since === null ? 0 : clock.monotonic() - since),
  };
}

/** Names the settings, never their values. */
function differenceText(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES);
  const more = names.length > MOST_NAMES ? [counted(names.length - MOST_NAMES, 'other setting')] : [];
  return `Another daemon has a different value of ${new Intl.ListFormat('en').format([...shown, ...more])}.`;
}

function unnamedLine({ kind, name, waiting, renamedTo }: Unnamed): [object, string] {
  if (renamedTo !== null) {
    const detail = `No daemon names this site, and ${renamedTo} names it as a former name: its purchases move to ${renamedTo}.`;
    return [{ site: name, purchases: waiting, detail }, 'site.moves'];
  }
  const back = `name it in the settings again`;
  if (kind === 'subscriber') {
    const detail = 'No running daemon has this subscriber in its settings: nothing is sent to it.';
    const advice = `${back}, or do nothing: ten minutes after the last daemon named it, no events are made for it any more`;
    return [{ subscriber: name, deliveries: waiting, detail, advice }, 'subscriber.not_named'];
  }
  const detail = 'No running daemon has this site in its settings: its purchases are not polled.';
  const advice = `${back}; if it was renamed, add "formerly: [${name}]" to the site that it is now; if it is over, end its purchases: purchase-watch unwatch --site ${name}`;
  return [{ site: name, purchases: waiting, detail, advice }, 'site.not_named'];
}

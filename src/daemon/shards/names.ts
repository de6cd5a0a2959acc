/**
 * Keeps sites and subscribers in line with what living replicas name, says what none names, and has people alerted when the
 * settings of two replicas differ for long.
 */

import { differingSettings, listedSettings, type SettingsDigests } from '../../config/settings-digests.ts';
import { MOST_UNPOLLED, type UnpolledSite, unpolledAdvice, unpolledText } from '../../domain/polling/unpolled.ts';
import type { TroubleSeen } from '../../domain/replicas/loop-health.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { listSites } from '../../postgres/polling/sites.ts';
import {
  type DescribedReplica,
  followNames,
  type Naming,
  type UnnamedSubscriber,
  unnamedSubscribers,
} from '../../postgres/shards/named.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { LogEvent } from '../../runtime/log-events.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Deps } from '../deps.ts';

interface NamesOptions extends Pick<Deps, 'sql' | 'log' | 'replica'> {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly naming: Naming;
  /** Digests of this replica's settings. */
  readonly settings: SettingsDigests;
}

/** While something is unnamed or differs, and otherwise. */
const WHILE_DIFFERENT: Milliseconds = 10_000;
const EVERY: Milliseconds = 30_000;
/** A rolling deploy of a few replicas is over by then. */
const DIFFER_FOR: Milliseconds = 5 * 60_000;

export function createNames({ sql, clock, log, replica, naming, settings }: NamesOptions) {
  /** The lines that are logged of each site and subscriber that no replica names. */
  let said: ReadonlyMap<string, UnnamedLine> = new Map();
  const differing = createLasting(clock);
  const versions = createLasting(clock);
  let isVersionSaid = false;

  const sayUnnamed = (found: readonly UnnamedLine[]): void => {
    const now = new Map(found.map((each) => [each.key, each]));
    for (const [key, { event, begin }] of now) if (said.get(key)?.event !== event) begin(log);
    for (const [key, { end }] of said) if (!now.has(key)) end(log);
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
    tick: async (): Promise<Milliseconds> => {
      const { others, isUnnamed } = await followNames(sql, { ...naming, replica });
      compare(others);
      sayUnnamed(isUnnamed ? await readUnnamed(sql) : []);
      return said.size > 0 || differing.found().length > 0 ? WHILE_DIFFERENT : EVERY;
    },
    /** The trouble to alert people about: settings that differ for long. */
    troubles: (): readonly TroubleSeen[] =>
      differing.lasted() < DIFFER_FOR
        ? []
        : [
            {
              reason: 'settings_differ',
              for: differing.lasted(),
              error: `Another daemon has a different value of ${listedSettings(differing.found())}.`,
            },
          ],
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

/** The lines of the log about a site or subscriber that no running daemon names: one when that begins, one when it ends. */
interface UnnamedLine {
  readonly key: string;
  readonly event: LogEvent;
  begin(log: Logger): void;
  end(log: Logger): void;
}

/** Sites that no living replica names and that have purchases to poll, and subscribers that none names. */
async function readUnnamed(sql: Sql): Promise<UnnamedLine[]> {
  const [sites, subscribers] = await Promise.all([listSites(sql), unnamedSubscribers(sql)]);
  return [...sites.filter(({ unpolled }) => unpolled > 0).map(siteLine), ...subscribers.map(subscriberLine)];
}

function siteLine(site: UnpolledSite): UnnamedLine {
  const { name, unpolled, renamedTo } = site;
  const fields = {
    site: name,
    purchases: unpolled,
    ...atLeast(unpolled),
    detail: unpolledText(site),
    advice: unpolledAdvice(site),
  };
  const event = renamedTo === null ? 'site.not_named' : 'site.moves';
  return {
    key: `site ${name}`,
    event,
    begin: (log) => log.warn(fields, event),
    end: (log) => log.info({ site: name }, 'site.unnamed_over'),
  };
}

function subscriberLine({ name, waiting }: UnnamedSubscriber): UnnamedLine {
  const detail = 'No running daemon has this subscriber in its settings: nothing is sent to it.';
  const advice =
    'name it in the settings again, or do nothing: ten minutes after the last daemon named it, no events are made for it any more';
  const fields = { subscriber: name, deliveries: waiting, ...atLeast(waiting), detail, advice };
  const event = 'subscriber.not_named';
  return {
    key: `subscriber ${name}`,
    event,
    begin: (log) => log.warn(fields, event),
    end: (log) => log.info({ subscriber: name }, 'subscriber.unnamed_over'),
  };
}

/** A field that says that counting ended there. */
const atLeast = (count: number) => (count >= MOST_UNPOLLED ? { atLeast: true } : {});

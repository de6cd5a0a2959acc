/** An entry in a table of metrics, and what the numbers are read from. */
import type { PoolUse } from '../../actions/database.ts';
import type { ApiKey } from '../../config/api-keys.ts';
import type { Expiry } from '../../runtime/http/certificates.ts';
import type { Health } from '../../runtime/loops/health.ts';
import type { Meters } from '../../runtime/meters.ts';
import type { MetricFamily, Sample } from '../../runtime/metrics.ts';

/** How the numbers of a metric are read from a source. It is a gauge without labels, unless it says otherwise. */
export interface Metric<Source> extends Partial<Pick<MetricFamily, 'type' | 'labels' | 'exemplar'>>, Pick<MetricFamily, 'help'> {
  read(source: Source): readonly Sample[];
}

/** Metrics by their names without the prefix. */
export type Metrics<Source> = Readonly<Record<string, Metric<Source>>>;

/** The rest of the daemon, as far as it is counted. */
export interface Engine {
  readonly meters: Meters;
  shardsOwned(): number;
  /** Polls that were made and are not recorded yet. */
  unwritten(): number;
  /** The process's connections to the database. */
  readonly pools: PoolUse[];
  /** When certificates of this side expire, by what they are for. */
  certificates(): readonly Expiry[];
}

/** The replica that answers, which knows only its own work. */
export interface Replica {
  readonly version: string;
  readonly health: Health;
  readonly engine: Engine;
  /** Keys of the API. */
  readonly keys: readonly ApiKey[];
}

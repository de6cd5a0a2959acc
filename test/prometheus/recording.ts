/** Scrapes daemons as Prometheus does, and writes what was scraped as a test of promtool. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseMetrics } from '../api/exposition.ts';

/** A daemon to be scraped. */
export interface Target {
  readonly instance: string;
  url: string;
}

/** With every scope. */
export const KEY = 'a-key-for-every-call';
export const AUTHORIZED = { authorization: `Bearer ${KEY}` };

/** What is read at one moment: each series with its value. */
interface Scrape {
  readonly at: number;
  readonly values: ReadonlyMap<string, number>;
}

/** A part of a recording, and which alerts fire at its end. */
export interface Phase {
  readonly name: string;
  readonly firing: readonly string[];
  /** The number of the last scrape. */
  readonly until: number;
}

export interface Recording {
  readonly name: string;
  readonly scrapes: readonly Scrape[];
  readonly phases: readonly Phase[];
  /** From one scrape to the next, in milliseconds. */
  readonly every: number;
  /** Seconds of the test for one second of the recording. */
  readonly speed: number;
}

/** As Prometheus waits unless it is told otherwise. */
const SCRAPED_WITHIN = 10_000;

export interface Recorder {
  readonly recording: Recording;
  /** Scrapes for so many seconds; afterwards these alerts fire and no other. */
  phase(name: string, seconds: number, ...firing: string[]): Promise<void>;
}

/** Begins a recording. Targets may be added, and lead elsewhere, between phases. */
export function createRecorder(
  { name, speed, every }: Pick<Recording, 'name' | 'speed' | 'every'>,
  targets: readonly Target[],
): Recorder {
  const scrapes: Scrape[] = [];
  const phases: Phase[] = [];
  return {
    recording: { name, speed, every, scrapes, phases },
    phase: async (phaseName, seconds, ...firing) => {
      let next = performance.now();
      for (const end = next + seconds * 1_000; next < end; next += every) {
        await delay(Math.max(next - performance.now(), 0));
        const at = Date.now();
        const read = await Promise.all(targets.map(scrape));
        scrapes.push({ at, values: new Map(read.flat()) });
      }
      phases.push({ name: phaseName, firing, until: scrapes.length - 1 });
    },
  };
}

/** The series of one target. A target that does not answer has only `up`. */
async function scrape({ instance, url }: Target): Promise<(readonly [string, number])[]> {
  const own = { instance, job: 'purchase-watch' };
  try {
    const answer = await fetch(`${url}/metrics`, { headers: AUTHORIZED, signal: AbortSignal.timeout(SCRAPED_WITHIN) });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const families = parseMetrics(await answer.text());
    const samples = [...families.values()].flatMap((family) => family.samples);
    return [
      [seriesOf('up', own), 1],
      ...samples.map((each) => [seriesOf(each.name, { ...each.labels, ...own }), each.value] as const),
    ];
  } catch {
    return [[seriesOf('up', own), 0]];
  }
}

function seriesOf(name: string, labels: Readonly<Record<string, string>>): string {
  return `${name}{${Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(',')}}`;
}

/** The name of a metric in a text. */
export const METRIC = /\bpurchase_watch_[a-z_]+/g;

/** Where rules and tests are. */
export const FOLDER = join(import.meta.dirname, '../../deploy/prometheus');

/** A test file of promtool: the series that the files of rules use, and at the end of each phase the alerts that fire. */
export function promtoolTest(
  { name, scrapes, phases, every, speed }: Recording,
  files: readonly string[] = ['rules.yml'],
): object {
  const rules = files.map((file) => readFileSync(join(FOLDER, file), 'utf8')).join('');
  const used = new Set([...rules.matchAll(METRIC)].map(([metric]) => metric));
  const names = new Set(scrapes.flatMap(({ values }) => [...values.keys()]));
  const kept = [...names].filter((series) => series.startsWith('up{') || used.has(/^\w+/.exec(series)![0])).sort();
  const seconds = (every / 1_000) * speed;
  const begun = scrapes[0]!.at;
  return {
    rule_files: files.map((file) => `../${file}`),
    evaluation_interval: `${seconds}s`,
    tests: [
      {
        name,
        interval: `${seconds}s`,
        input_series: kept.map((series) => ({
          series,
          values: inRuns(scrapes.map(({ at, values }) => scaled(series, values.get(series), { at, begun, speed }))),
        })),
        promql_expr_test: phases.map((phase) => ({
          expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: `${phase.until * seconds}s`,
          exp_samples: [...phase.firing].sort().map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
        })),
      },
    ],
  };
}

/** Ages and past moments are stretched like all of the recording's time; moments to come and everything else stay as they were read. */
function scaled(
  series: string,
  value: number | undefined,
  { at, begun, speed }: { readonly at: number; readonly begun: number; readonly speed: number },
): number | undefined {
  if (value === undefined) return undefined;
  const name = /^\w+/.exec(series)![0];
  if (name.endsWith('_timestamp_seconds')) {
    const since = value - begun / 1_000;
    return round(value * 1_000 > at ? since : since * speed);
  }
  return name.endsWith('_seconds') || name.endsWith('_seconds_total') ? round(value * speed) : value;
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** In promtool's notation; a series that is missing after it was there is stale, as where Prometheus misses it. */
function inRuns(values: readonly (number | undefined)[]): string {
  const words: string[] = [];
  for (let from = 0; from < values.length; ) {
    const value = values[from];
    let to = from + 1;
    while (to < values.length && values[to] === value) to += 1;
    const more = to - from - 1;
    if (value !== undefined) words.push(more === 0 ? `${value}` : `${value}+0x${more}`);
    else if (from === 0) words.push(`_x${to - from}`);
    else words.push('stale', ...(more === 0 ? [] : [`_x${more}`]));
    from = to;
  }
  return words.join(' ');
}

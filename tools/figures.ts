/**
 * Tables and charts of docs/performance.md, docs/scaling.md and docs/yardstick.md, made from what benches wrote: `npm run figures`. The figures lie in
 * bench/figures; `npm run bench -- peers peers-send --json bench/figures/peers.json` renews one of them (bench/README.md).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { holds, type Result, type Row, shownWithUnit } from '../bench/report.ts';
import { type Bar, barChart, lineChart } from './figures/charts.ts';
import { yardstickTables } from './figures/yardstick.ts';

const ROOT = join(import.meta.dirname, '..');
const FIGURES = join(ROOT, 'bench/figures');
const PICTURES = 'docs/pictures';

/** Contents of files by their paths below the project. */
export type Files = Map<string, string>;

interface Figures {
  readonly results: readonly Result[];
}

/** The pages and pictures as the figures make them. */
export function madeFromFigures(): Files {
  const files: Files = new Map();
  const peers = figuresOf('peers');
  if (peers !== null) {
    const [polls, sends] = ['peers', 'peers-send'].map((name) => resultOf(peers, name));
    const pollsCharts = `${image('peers-polls', 'Outcomes recorded a second, by contender')}\n\n${image('peers-costs', 'Processor time of an outcome, by contender: of its process, of Postgres and of Redis')}`;
    write(files, 'docs/performance.md', 'polls', `${pollsCharts}\n\n${pollsTable(polls!)}\n\n${capital(polls!.how)}.`);
    const sendsChart = image('peers-sends', 'Webhooks sent and settled a second, by contender');
    write(files, 'docs/performance.md', 'sends', `${sendsChart}\n\n${sendsTable(sends!)}\n\n${capital(sends!.how)}.`);
    const own = figuresOf('own')?.results.flatMap(({ bench, rows }) => named(`\`${bench}\``, rows)) ?? [];
    const ratios = [...named('polling', polls!.rows), ...named('sending', sends!.rows)];
    write(files, 'docs/performance.md', 'targets', targetsTable([...ratios, ...own]));
    for (const [name, chart] of peerCharts(polls!, sends!)) files.set(`${PICTURES}/${name}.svg`, chart);
  }
  const scale = figuresOf('scale');
  if (scale !== null) {
    const { rows, how } = resultOf(scale, 'scale');
    const [sizes, rest] = bySize([...rows, ...rowsOfMoreEvents()]);
    write(files, 'docs/scaling.md', 'sizes', `${sizesTables(sizes)}\n\n${capital(how)}.`);
    write(files, 'docs/scaling.md', 'replicas', plainTable(rest));
  }
  const soak = figuresOf('soak');
  if (soak !== null) {
    const result = resultOf(soak, 'soak');
    const charts = [
      image('soak-memory', 'Memory of the daemon over the time of the bench'),
      image('soak-tables', 'Sizes of the table of purchases and of its indexes over the time of the bench'),
    ];
    write(files, 'docs/scaling.md', 'soak', [`${capital(result.how)}.`, ...charts, trendsTable(result.rows)].join('\n\n'));
    files.set(`${PICTURES}/soak-memory.svg`, soakChart(result, 'memory of the daemon', { rss: 'daemon (RSS)' }));
    const tables = { purchasesTable: 'purchases', purchasesIndexes: 'its indexes' };
    files.set(`${PICTURES}/soak-tables.svg`, soakChart(result, 'table of purchases', tables));
  }
  const yardstick = figuresOf('yardstick');
  if (yardstick !== null) {
    const result = resultOf(yardstick, 'yardstick');
    write(files, 'docs/yardstick.md', 'yardstick', `${yardstickTables(result, markdown)}\n\n${capital(result.how)}.`);
  }
  return files;
}

function figuresOf(name: string): Figures | null {
  const file = join(FIGURES, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

function resultOf({ results }: Figures, name: string): Result {
  const found = results.find(({ bench }) => bench === name);
  if (found === undefined) throw new Error(`bench/figures has no result of ${name}: run that bench with --json`);
  return found;
}

/** Puts a text between the two comments of a page that carry its name. */
function write(files: Files, page: string, name: string, text: string): void {
  const before = files.get(page) ?? readFileSync(join(ROOT, page), 'utf8');
  const [begin, end] = [`<!-- figures: ${name} -->`, `<!-- end of figures: ${name} -->`];
  const [from, to] = [before.indexOf(begin), before.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page}: add the lines ${begin} and ${end}`);
  files.set(page, `${before.slice(0, from + begin.length)}\n\n${text}\n\n${before.slice(to)}`);
}

const CONTENDERS = ['daemon', 'pg-boss', 'graphile-worker', 'BullMQ', 'usual script', 'undici script'];
const BARE = 'bare loop, nothing kept';

function pollsTable({ rows }: Result): string {
  const of = reader(rows);
  const lines = CONTENDERS.map((name) => {
    const redis = of(`${name}, processor time of an outcome in Redis`);
    const postgres = of(`${name}, processor time of an outcome in Postgres`);
    return [
      name,
      of(`${name}, outcomes recorded`),
      name === 'daemon' ? '1' : of(`daemon to ${name}`),
      of(`${name}, processor time of an outcome`),
      redis === '' ? postgres : `${postgres} (Redis ${redis})`,
      `${of(`${name}, change to webhook, p50`)} / ${of(`${name}, change to webhook, p99`)}`,
      of(`${name}, memory (RSS)`),
    ];
  });
  const head = ['contender', 'outcomes a second', "the daemon's rate to its", 'its process an outcome', 'Postgres an outcome'];
  const bare = [BARE, of(BARE), of('daemon to bare loop'), '', '', '', ''];
  return markdown([...head, 'change to webhook p50 / p99', 'memory'], [bare, ...lines]);
}

function sendsTable({ rows }: Result): string {
  const of = reader(rows);
  const bare = [BARE, of('bare loop posting signed bytes'), of('daemon to bare loop'), '', ''];
  const lines = CONTENDERS.filter((name) => !name.endsWith('script')).map((name) => [
    name,
    of(`${name}, webhooks sent and settled`),
    name === 'daemon' ? '1' : of(`daemon to ${name}`),
    of(`${name}, processor time of a webhook`),
    of(`${name}, processor time of a webhook in Postgres`),
  ]);
  return markdown(
    ['contender', 'webhooks a second', "the daemon's rate to its", 'its process a webhook', 'Postgres a webhook'],
    [bare, ...lines],
  );
}

/** Both benches compare with some of the same peers. */
const named = (bench: string, rows: readonly Row[]): Row[] => rows.map((row) => ({ ...row, what: `${bench}, ${row.what}` }));

/** Every row with a bound. */
function targetsTable(rows: readonly Row[]): string {
  const bounded = rows.filter((row) => holds(row) !== null);
  const lines = bounded.map((row) => [row.what, shownWithUnit(row), bound(row), holds(row) ? 'holds' : 'missed']);
  return markdown(['what', 'found', 'target', ''], lines);
}

const bound = ({ atLeast, atMost }: Row): string =>
  atLeast === undefined ? (atMost === undefined ? '' : `≤ ${atMost}`) : `≥ ${atLeast}`;

function peerCharts(polls: Result, sends: Result): [string, string][] {
  const value = (rows: readonly Row[], what: string): number => rows.find((row) => row.what === what)?.value ?? 0;
  const bars = (names: readonly string[], parts: (name: string) => number[]): Bar[] =>
    names.map((name) => ({ name, parts: parts(name), isOwn: name === 'daemon' }));
  const outcomes = bars(CONTENDERS, (name) => [value(polls.rows, `${name}, outcomes recorded`)]);
  const cost = 'processor time of an outcome';
  const costs = bars(CONTENDERS, (name) =>
    ['', ' in Postgres', ' in Redis'].map((where) => value(polls.rows, `${name}, ${cost}${where}`)),
  );
  const queues = CONTENDERS.filter((name) => !name.endsWith('script'));
  const sent = bars(queues, (name) => [value(sends.rows, `${name}, webhooks sent and settled`)]);
  const loop = (rows: readonly Row[], what: string): Bar => ({ name: 'bare loop', parts: [value(rows, what)] });
  const chart = (title: string, unit: string, legend: readonly string[], drawn: readonly Bar[]): string =>
    barChart({ title, unit, legend, bars: drawn });
  return [
    ['peers-polls', chart('Outcomes recorded', 'a second', [], [loop(polls.rows, BARE), ...outcomes])],
    ['peers-costs', chart('Processor time of an outcome', 'µs', ['process', 'Postgres', 'Redis'], costs)],
    [
      'peers-sends',
      chart('Webhooks sent and settled', 'a second', [], [loop(sends.rows, 'bare loop posting signed bytes'), ...sent]),
    ],
  ];
}

const SIZE = /^(\S+ ?[kM]? watched, \S+ ?[kM]? events): (.+)$/;
type BySize = Map<string, Map<string, Row>>;

/** Rows of databases by size and by what they say, and the rows of no size. */
function bySize(rows: readonly Row[]): [BySize, Row[]] {
  const sizes: BySize = new Map();
  const rest: Row[] = [];
  for (const row of rows) {
    const [, size, what] = SIZE.exec(row.what) ?? [];
    if (size === undefined) rest.push(row);
    else sizes.set(size, (sizes.get(size) ?? new Map()).set(what!.replace(/, to .*/, ', to the first column'), row));
  }
  return [sizes, rest];
}

/** Databases with several events of each purchase, from a run of their own: `scale --watched` leaves them out. */
function rowsOfMoreEvents(): Row[] {
  const events = figuresOf('scale-events');
  return events === null
    ? []
    : resultOf(events, 'scale').rows.filter(({ what }) => !hasSameCounts(SIZE.exec(what)?.[1] ?? '0 watched, 0 events'));
}

/** Rates depend on how daemon, Postgres and stand-in share the cores; what a page of the feed costs depends on its events. */
const LEFT_OUT = /^(?:polls|deliveries|feed page, .*)$/;
/** More events of each purchase matter to these alone. */
const OF_EVENTS = /^(?:size of the database|feed|cost of)/;
const hasSameCounts = (size: string): boolean => /^(.+) watched, \1 events$/.test(size);

/** One table for as many events as purchases, one for several events of each. */
function sizesTables(sizes: BySize): string {
  const names = [...sizes.keys()];
  const tables = [names.filter(hasSameCounts), names.filter((size) => !hasSameCounts(size))];
  return tables
    .filter((columns) => columns.length > 0)
    .map((columns) => {
      const shown = (what: string): boolean => (hasSameCounts(columns[0]!) ? !LEFT_OUT.test(what) : OF_EVENTS.test(what));
      const facts = [...new Set(columns.flatMap((size) => [...sizes.get(size)!.keys()]))].filter(shown);
      const lines = facts.map((what) => [
        what,
        ...columns.map((size) => {
          const row = sizes.get(size)!.get(what);
          return row === undefined ? '1' : shownWithUnit(row);
        }),
      ]);
      return markdown(['', ...columns], lines);
    })
    .join('\n\n');
}

const plainTable = (rows: readonly Row[]): string =>
  markdown(
    ['', ''],
    rows.map((row) => [row.what, shownWithUnit(row)]),
  );

/** `X, first`, `X, last` and `X, last to first` as one line; other rows below with one value. */
function trendsTable(rows: readonly Row[]): string {
  const of = reader(rows);
  const trends = rows
    .filter(({ what }) => what.endsWith(', last to first'))
    .map(({ what }) => what.replace(', last to first', ''));
  const isTrend = ({ what }: Row): boolean =>
    trends.some((trend) => what.startsWith(`${trend}, `) && / first$|, last$/.test(what));
  const lines = trends.map((what) => [what, of(`${what}, first`), of(`${what}, last`), of(`${what}, last to first`)]);
  const single = rows.filter((row) => !isTrend(row));
  return `${markdown(['', 'first quarter', 'last quarter', 'last to first'], lines)}\n\n${plainTable(single)}`;
}

function soakChart({ samples = [] }: Result, title: string, names: Readonly<Record<string, string>>): string {
  const lines = Object.entries(names).map(([key, name]) => ({
    name,
    points: samples.map((sample) => ({ x: sample.minute!, y: sample[key]! })),
  }));
  return lineChart({ title: capital(title), unit: 'MB', along: 'minutes at full speed', lines });
}

/** Values by what they are, as text; empty where there is none. */
function reader(rows: readonly Row[]): (what: string) => string {
  const known = new Map(rows.map((row) => [row.what, shownWithUnit(row)]));
  return (what) => known.get(what) ?? '';
}

function markdown(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |');
  return [line(head), `|${'---|'.repeat(head.length)}`, ...lines.map(line)].join('\n');
}

const image = (name: string, text: string): string => `![${text}](pictures/${name}.svg)`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

if (import.meta.main) {
  for (const [file, text] of madeFromFigures()) {
    writeFileSync(join(ROOT, file), text);
    console.log(file);
  }
}

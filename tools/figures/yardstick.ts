/** Tables of docs/yardstick.md: what the contenders did under each fault. */
import { type Result, shownWithUnit } from '../../bench/report.ts';

const CONTENDERS = ['purchase-watch', 'pg-boss', 'graphile-worker'];
const NONE = '–';

type Markdown = (head: readonly string[], lines: readonly (readonly string[])[]) => string;

/** The counts, the times and the costs, by fault and contender. */
export function yardstickTables({ rows }: Result, markdown: Markdown): string {
  const known = new Map(rows.map((row) => [row.what, shownWithUnit(row)]));
  const faults = [...new Set(rows.map(({ what }) => what.split(': ')[0]!))];
  const table = (title: string, lines: readonly string[], cell: (line: string, name: string) => string): string =>
    markdown(
      [title, ...CONTENDERS],
      lines.map((line) => [line, ...CONTENDERS.map((name) => cell(line, name))]),
    );
  const of = (fault: string, name: string, what: string): string => known.get(`${fault}: ${name}, ${what}`) ?? NONE;
  const counts = table('missing / repeated / out of order', faults, (fault, name) => {
    const three = ['missing', 'repeated', 'out of order'].map((what) => of(fault, name, what)).join(' / ');
    const ended = of(fault, name, 'process ended');
    return ended === '0' ? three : `${three}; its process ended ${ended} ×`;
  });
  const times = table('goes on after; all there after', faults, (fault, name) => {
    const [first, all] = [of(fault, name, 'first after'), of(fault, name, 'all there after')];
    return first === NONE ? all : `${first}; ${all}`;
  });
  const costs = [...new Set(rows.map(({ what }) => what.replace(/^.*?: .*?, /, '')))].filter((what) =>
    / a minute | for each |, last$/.test(what),
  );
  const cost = table(
    '',
    costs,
    (what, name) => known.get(`${faults.find((fault) => known.has(`${fault}: ${name}, ${what}`))}: ${name}, ${what}`) ?? NONE,
  );
  return [counts, times, cost].join('\n\n');
}

/** Adds up what worlds did, for people. */
import type { Plan } from '../acts/plan.ts';
import type { Report } from './processes.ts';

export interface Total {
  worlds: number;
  /** Worlds in which a promise was broken. */
  broken: number;
  readonly figures: Map<string, number>;
  /** How often each kind of act happened. */
  readonly acts: Map<string, number>;
}

export const nothing = (): Total => ({ worlds: 0, broken: 0, figures: new Map(), acts: new Map() });

export function add(total: Total, { seed: _, digest: __, problems, ...figures }: Report, { acts }: Plan): void {
  total.worlds++;
  if (problems.length > 0) total.broken++;
  for (const [name, value] of Object.entries(figures)) total.figures.set(name, (total.figures.get(name) ?? 0) + value);
  for (const { does } of acts) total.acts.set(does, (total.acts.get(does) ?? 0) + 1);
}

export const hoursOf = ({ figures }: Total): string => ((figures.get('minutes') ?? 0) / 60).toFixed(1);

/** Names of figures in words; one that is not named here keeps its own. `ms` is of real time in several processes, and says nothing. */
const WORDS = new Map([
  ['requests', 'messages to receivers'],
  ['statements', 'statements of the database'],
  ['steps', 'steps of the scheduler'],
]);
const LEFT_OUT = ['ms', 'cpu', 'minutes'];

export function tableOf(total: Total): string[] {
  const figures = [...total.figures].filter(([name]) => !LEFT_OUT.includes(name));
  const rows: [string, string][] = [
    ['worlds', number(total.worlds)],
    ['  of them with a broken promise', number(total.broken)],
    ['virtual hours', hoursOf(total)],
    ...figures.map(([name, sum]): [string, string] => [WORDS.get(name) ?? name, number(sum)]),
    ['minutes of a processor', ((total.figures.get('cpu') ?? 0) / 60_000).toFixed(1)],
    ['acts', number([...total.acts.values()].reduce((sum, count) => sum + count, 0))],
    ...[...total.acts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([does, count]): [string, string] => [`  ${does}`, number(count)]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const most = Math.max(...rows.map(([, value]) => value.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value.padStart(most)}`);
}

const number = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');

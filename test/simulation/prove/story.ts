/** Tells a plan in sentences. */
import type { Plan } from '../acts/plan.ts';

/** An act as its JSON has it: the kinds of acts grow, and one that has no sentence here is told by its fields. */
type Fields = Readonly<Record<string, unknown>> & { readonly at: number; readonly does: string };

const SENTENCES = new Map<string, (act: Fields) => string>([
  [
    'registers',
    ({ count, by, life }) =>
      `a shop registers ${plural(count, 'purchase')} by ${by === 'sql' ? 'SQL' : 'the API'} (${typeof life === 'string' ? life : 'a life of its own'})`,
  ],
  ['kills', ({ daemon }) => `daemon ${daemon} is killed`],
  ['starts', ({ daemon }) => `daemon ${daemon} is started, unless it runs`],
  ['stops', ({ daemon }) => `daemon ${daemon} is stopped`],
  ['freezes', ({ daemon }) => `daemon ${daemon} is frozen`],
  ['cuts off', ({ daemon }) => `daemon ${daemon} is cut off from the network`],
  ['restarts the database', () => 'the database restarts'],
  ['loses statements', ({ share }) => `the database loses ${percent(share)} of the statements, before or after their commit`],
  ['spoils answers', ({ kind, share }) => `the service answers ${percent(share)} of the requests wrongly (${kind})`],
  ['spoils a receiver', ({ receiver, mood }) => `receiver shop${receiver} ${mood}`],
  ['slows the network', ({ ms }) => `each packet takes up to ${duration(ms)} longer`],
  ['asks for polls', () => 'a shop asks for a poll of each purchase'],
  ['registers again', () => 'the shops register all purchases again'],
  ['stops all', () => 'all daemons are stopped'],
  ['changes settings', ({ daemon, to }) => `daemon ${daemon} is started again with other settings: ${JSON.stringify(to)}`],
  ['reloads settings', ({ daemon, to }) => `daemon ${daemon} goes on with other settings: ${JSON.stringify(to)}`],
  ['upgrades', ({ daemon, from }) => `daemon ${daemon} starts on the schema of file ${from}, and the others are frozen`],
  ['writes a row', ({ purchase, how }) => `somebody changes the row of purchase ${purchase} by SQL (${how})`],
  ['oversteps', () => 'a login that may register only tries more'],
  ['undoes an order', () => 'an order that registers a purchase is undone'],
  ['copies the database', () => 'a copy of the database is made'],
  [
    'goes back',
    ({ to }) => (to === 'copy' ? 'the database is again as it was at its last copy' : 'the database is made again, without rows'),
  ],
  ['fails statements', ({ share, code }) => `the database answers ${percent(share)} of the statements with error ${code}`],
  ['refuses connections', ({ code }) => `the database refuses new connections with error ${code}`],
  ['refuses writes', () => 'the database refuses to write'],
  ['holds the database', () => 'another session keeps a transaction open'],
  [
    'steps a clock',
    ({ of, by }) => `the clock of ${of === 'database' ? 'the database' : `daemon ${of}`} steps by ${duration(by)}`,
  ],
  ['loses calls', ({ share }) => `${percent(share)} of the API's answers get lost`],
  ['loses notifications', () => 'notifications of the database get lost'],
  ['stops watching', ({ purchase }) => `a shop stops purchase ${purchase}`],
  ['erases', ({ purchase }) => `somebody has purchase ${purchase} erased`],
  ['wavers', ({ purchase }) => `a shop polls, stops and takes up purchase ${purchase} again and again`],
  ['silences', () => 'somebody silences everything for two minutes'],
  ['acknowledges', () => 'somebody acknowledges what is open'],
  ['resumes', () => 'somebody resumes all receivers'],
  ['replays', ({ receiver }) => `receiver shop${receiver} gets the last hour again`],
  ['tests', ({ receiver }) => `receiver shop${receiver} gets a test`],
  ['retries deliveries', ({ receiver }) => `deliveries to receiver shop${receiver} are tried at once`],
  ['doubles calls', ({ share }) => `${percent(share)} of the calls of the API arrive twice`],
]);

/** The plan, a line for each act, and what its world broke. */
export function storyOf(plan: Plan, problems: readonly string[] = []): string[] {
  const told = plan.acts.map((act) => `${moment(act.at)}  ${sentence(act as unknown as Fields)}`);
  return [
    `Seed ${plan.seed}: ${plural(plan.daemons, 'daemon')}, ${plural(plan.receivers, 'receiver')}.`,
    ...told,
    `${moment(plan.lasts)}  every fault is mended`,
    ...problems.slice(0, 5).map((problem) => `Broken: ${problem}`),
    ...(problems.length > 5 ? [`… and ${problems.length - 5} problems more`] : []),
  ];
}

function sentence(act: Fields): string {
  const told = SENTENCES.get(act.does)?.(act) ?? `${act.does}${fieldsOf(act)}`;
  return act.lasts === undefined ? told : `${told}, for ${duration(act.lasts)}`;
}

function fieldsOf({ at: _, does: __, lasts: ___, ...fields }: Fields): string {
  const named = Object.entries(fields).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

const plural = (count: unknown, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
const percent = (share: unknown): string => (share === 1 ? 'all' : `${Math.round(Number(share) * 100)} %`);

/** Milliseconds in words: `250 ms`, `12 s`, `3.5 h`. */
function duration(value: unknown): string {
  const ms = Math.abs(Number(value));
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ] as const;
  const [unit, size] = units.find(([, each]) => ms >= 2 * each || ms === each) ?? ['ms', 1];
  return `${Number(value) < 0 ? '-' : ''}${Number((ms / size).toFixed(1))} ${unit}`;
}

/** A moment since the start of the world: `  1:05`, `26:01:05`. */
function moment(at: number): string {
  const seconds = Math.floor(at / 1_000);
  const two = (number: number): string => `${number % 60}`.padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  const text = minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
  return text.padStart(7);
}

/** What the model is given of a world to judge. */
import { type Act, MINUTE } from './acts/act.ts';
import type { Facts, Truth } from './model.ts';
import { isCalm, LOAD, ORDERLY } from './model-calm.ts';
import { disagreements, missingAtRest, type Row, type Stored } from './model-rest.ts';
import { onlyValue } from './world/messages.ts';
import type { World } from './world.ts';

/** How often it is noted whether any daemon could ask the service. */
const WATCHED_EVERY = 1_000;

/** The schema file that makes the column for the announcement of a purchase at risk. */
const AT_RISK = 17;

/** What the model knows of a world. */
export function factsOf(world: World): Facts {
  const { acts } = world.plan;
  const slowest = Math.max(0, ...acts.map((act) => (act.does === 'slows the network' ? act.ms : 0)));
  return {
    limits: LIMITS,
    blur: acts.some(({ does }) => does === 'steps a clock') ? Number.POSITIVE_INFINITY : 100 + 2 * slowest,
    excuses: world.excuses,
    // Announced before it, a stay is announced once more after it: the older version would not have announced it at all.
    losesRisks: acts.some((act) => act.does === 'upgrades' && act.from < AT_RISK),
    truth: (purchaseId) => world.outside.truth(purchaseId),
  };
}

/** Notes what of an act that begins now excuses what would be wrong otherwise. */
export function excuse({ excuses, shell }: World, act: Act): void {
  const from = shell.scheduler.begin + shell.scheduler.now;
  const to = from + ('lasts' in act ? act.lasts : 0);
  if (act.does === 'spoils answers' && act.kind !== 'late') excuses.push({ kind: 'spoiled', from, to, isOwn: act.share < 1 });
  else if (!HARMLESS.has(act.does) || (act.does === 'registers' && (act.count > MANY || act.site !== undefined)))
    excuses.push({
      kind: 'disturbed',
      from,
      to: to + (SETTLING[act.does] ?? SETTLES),
      by: 'mood' in act && act.mood === 'slow' ? 'slows a receiver' : act.does,
    });
}

/** Acts that disturb nothing. */
const HARMLESS: ReadonlySet<string> = new Set([
  'registers',
  'registers again',
  'asks for polls',
  'copies the database',
  'loses calls',
  'doubles calls',
  'silences',
  'acknowledges',
  'oversteps',
  'undoes an order',
] satisfies Act['does'][]);
/** More purchases at once than the ceiling of calls lets a shop hear of soon. */
const MANY = 20;
/** After a disturbance everything is as usual within this. */
const SETTLES = 2 * MINUTE;
/** After some acts it takes longer. */
const SETTLING: Partial<Record<Act['does'], number>> = {
  // A receiver that failed may be paused.
  'spoils a receiver': 12 * MINUTE,
  registers: 12 * MINUTE,
  // A site that one daemon names is asked by that one alone; few calls at once take long.
  'changes settings': 12 * MINUTE,
  'reloads settings': 12 * MINUTE,
  // What was written while a clock was wrong keeps its times.
  'steps a clock': Number.POSITIVE_INFINITY,
};

/** Lines of the log that stand for a fault of the product, whatever the weather: the patrol and the repair hide it otherwise. */
const BUGS =
  /"event":"(queue.found_overdue|poll.undecided|poll.unrecordable|purchase.repaired|delivery.unsettleable)"|\b(TypeError|RangeError|ReferenceError)\b/;

/** Limits of the worlds: short, so that customers get stuck within their minutes. */
const LIMITS: ReadonlyMap<number, number> = new Map([
  [4, 60_000],
  [6, 60_000],
]);

/** Notes from now on when no daemon could ask the service anything: that time counts towards no limit. */
export function watchBlindness(world: World): void {
  const { scheduler } = world.shell;
  let since: number | null = null;
  let overlapping = 0;
  const look = (): void => {
    const now = scheduler.begin + scheduler.now;
    const counters = scheduler.in(world.outside.place, () => world.outside.simulator.control.counters());
    if (
      counters.overlapping.length > overlapping &&
      isCalm(world.excuses, now - SPOILT_CALL, now, { spoiled: false, acts: OVERLAP_NOTHING })
    )
      world.problems.push(
        `${Math.round(scheduler.now / 1_000)} s: two calls at once about ${counters.overlapping.slice(overlapping).join()}`,
      );
    overlapping = counters.overlapping.length;
    const isBlind = !world.daemons.anyReaches(world.cut);
    if (isBlind) since ??= now;
    else if (since !== null) {
      world.excuses.push({ kind: 'blind', from: since, to: now - WATCHED_EVERY });
      since = null;
    }
    scheduler.after(Math.max(WATCHED_EVERY, world.daemons.restsUntil - scheduler.now), look, scheduler.world);
  };
  look();
}

const OVERLAP_NOTHING = [...ORDERLY, ...LOAD];
/** A call that the daemon gave up is open at the service for as long as its body goes out. */
const SPOILT_CALL = MINUTE;

/** Everything that is wrong now, whatever may still be under way. */
export async function wrong(world: World): Promise<string[]> {
  const { stored, rows } = await books(world);
  const written = world.excuses
    .filter(({ kind }) => kind === 'written')
    .map((each) => (each as { purchaseId: string }).purchaseId);
  const isOwn = (line: string): boolean => !written.some((id) => line.includes(id));
  const bugs = world.daemons.log
    .filter((line) => BUGS.test(line) && isOwn(line))
    .map((line) => `the log has ${line.trim().slice(0, 300)}`);
  return [
    ...bugs,
    ...world.calm.problems,
    ...world.model.problems,
    ...world.people.problems,
    ...[...world.undone]
      .filter((id) => rows.some(({ purchaseId }) => purchaseId === id))
      .map((id) => `${id} is watched, and its order was undone`),
    ...disagreements(world.model, stored, rows, { people: world.people.events, facts: world.facts }),
  ];
}

/** What is missing when everything should be at rest. */
export async function missing(world: World): Promise<string[]> {
  const { stored, rows, unsettled } = await books(world);
  const registered: Truth[] = [...world.registered].map((id) => world.outside.truth(id)!);
  const receivers = world.outside.receivers.map(({ name }) => name);
  const { model, people, facts, outside } = world;
  return [
    ...missingAtRest(model, stored, rows, { receivers, registered, facts }),
    ...people.missing(rows, outside.said, new Set(stored.map(({ id }) => id))),
    ...(unsettled.length > 0 ? [`deliveries wait: ${JSON.stringify(unsettled.slice(0, 3))}`] : []),
  ];
}

/** Every purchase and event as SQL shows them, of one moment. */
export async function books(world: World): Promise<{ stored: Stored[]; rows: Row[]; unsettled: object[] }> {
  return await read(
    world,
    `select json_build_object(
      'stored', (select coalesce(json_agg(json_build_object('id', e.id, 'type', e.type, 'purchaseId', p.purchase_id, 'sequence', e.sequence, 'body', e.body)
        order by e.position), '[]') from purchase_watch_internal.events e left join purchase_watch.purchases p on p.id = e.purchase),
      'unsettled', (select coalesce(json_agg(json_build_object('type', type, 'subscriber', subscriber, 'status', status, 'due', due_at, 'error', last_error)), '[]')
        from purchase_watch.delivery_log where status not in ('delivered', 'suppressed')),
      'rows', (select coalesce(json_agg(json_build_object('purchaseId', purchase_id, 'state', state, 'status', status, 'isStuck', stuck_since is not null,
        'since', to_char(state_since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))), '[]')
        from purchase_watch.current_purchases))`,
  );
}

/** The JSON that a query answers, asked between transactions. */
async function read<T>(world: World, sql: string): Promise<T> {
  const { scheduler } = world.shell;
  let answered: Buffer | null = null;
  world.sql(sql, (answer) => {
    answered = answer;
  });
  // Where a transaction is open its end, or that of its connection, comes before the answer.
  await scheduler.run(Number.POSITIVE_INFINITY, () => answered !== null);
  return JSON.parse(onlyValue(answered!)) as T;
}

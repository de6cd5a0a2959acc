/** What must be true after a storm. Each check answers what is wrong, in sentences; an empty list is what is wanted. */
import type { Books, LoggedEvent } from './agreement.ts';
import { BLINDING, type FaultKind } from './forecast.ts';
import { type Struck, seconds } from './rage.ts';
import { STUCK_AFTER } from './shop.ts';
import type { World } from './world.ts';

const isBlind = ({ kind }: Struck): boolean => BLINDING.has(kind);

/** The unasked time of a gap is excused from here on: the planned interval with its jitter, and the grace of domain/polling/stuck.ts. */
const NOT_EXCUSED = 3_000 * 1.1 + 5_000;
/** A poll, and the reading of two clocks. */
const TOLERANCE = 1_500;
/** Faults in which the clock goes forward once, at their beginning or at their end: time that is excused like a gap. */
const FORWARD: Partial<Readonly<Record<FaultKind, 'from' | 'to'>>> = {
  'database clock forward': 'from',
  'database clock back': 'to',
};

const receivedByShop = ({ kept }: Books): readonly LoggedEvent[] => kept.get('shop')!;

/** Purchases that are not settled yet, and deliveries that are not delivered. */
export async function unfinished({ sql, shop }: World) {
  const [row] = await sql<[{ settled: number; deliveries: number }]>`
    select (select count(*) from purchase_watch.purchases where status = 'settled')::integer as settled,
      (select count(*) from purchase_watch_internal.deliveries d where d.status = 'pending')::integer as deliveries`;
  const open = await sql<{ row: string }[]>`
    select p::text as row from purchase_watch.purchases p where status <> 'settled' order by id limit 5`;
  return {
    purchases: shop.orders.length - row.settled,
    deliveries: row.deliveries,
    examples: open.map((each) => each.row),
  };
}

/** Purchases that were called stuck although they were not, or only in time in which the service could not be read. */
export function wronglyStuck(world: World, books: Books, struck: readonly Struck[]): string[] {
  const blind = struck.filter(isBlind);
  const skips = struck.flatMap((fault) => {
    const moment = FORWARD[fault.kind];
    return moment === undefined ? [] : [fault[moment]];
  });
  return receivedByShop(books).flatMap(({ type, data, at }) => {
    if (type !== 'purchase.stuck') return [];
    const { history } = world.simulator.control.get(data.purchaseId!)!;
    const longest = Math.max(
      ...history.map(({ at: from }, index) => {
        const to = Math.min(history[index + 1]?.at ?? at, at);
        const excused = blind.map((time) => Math.min(time.to, to) - Math.max(time.from, from) - NOT_EXCUSED);
        const skipped = skips.filter((moment) => moment >= from - NOT_EXCUSED && moment <= to + NOT_EXCUSED).length * NOT_EXCUSED;
        return to - from + skipped - excused.reduce((sum, each) => sum + Math.max(each, 0), 0);
      }),
    );
    return longest >= STUCK_AFTER - TOLERANCE
      ? []
      : [
          `${data.purchaseId} was called stuck after ${Math.round(longest)} ms that could be seen; ${lifeOf({ history, data, at, struck })}`,
        ];
  });
}

/** The states of a purchase and the faults of its time, in seconds before it was called stuck: for whoever looks for the reason. */
function lifeOf({
  history,
  data,
  at,
  struck,
}: {
  history: readonly { readonly at: number; readonly state: unknown }[];
  data: LoggedEvent['data'];
  at: number;
  struck: readonly Struck[];
}): string {
  const before = (moment: number): string => seconds(moment - at);
  const states = history.map((each) => `${JSON.stringify(each.state)} at ${before(each.at)}`);
  const faults = struck
    .filter(({ from, to }) => from < at && to > history[0]!.at - NOT_EXCUSED)
    .map(({ kind, from, to }) => `${kind} ${before(from)} to ${before(to)}`);
  return [...states, ...faults, JSON.stringify(data)].join('; ');
}

/** How long a blindness lasts at least that must have been announced: what domain/polling/reach.ts waits for, and some seconds to notice and to tell. */
const ANNOUNCED_AFTER: Partial<Readonly<Record<FaultKind, number>>> = {
  'service down': 25_000,
  'service refuses the credentials': 25_000,
  'service throttles': 150_000,
  'service answers nonsense': 150_000,
};
/** Blind times so close to each other may be one: other faults in between keep replicas from seeing that the site is well. */
const ONE_BLINDNESS = 60_000;

/** Blind times of a site that the merchant's systems heard of never, or more than once, and news without a blind time. */
export function wrongSiteNews(books: Books, site: string, struck: readonly Struck[]): string[] {
  const blind = struck.filter(isBlind);
  const news = receivedByShop(books).filter(({ type, data }) => type.startsWith('site.') && data.site === site);
  const types = news.toSorted((a, b) => a.id.localeCompare(b.id)).map(({ type }) => type);
  const announced = types.filter((type) => type === 'site.unreachable').length;
  const wrong = announced * 2 === types.length ? [] : [`site.unreachable and site.reachable do not match: ${types.join(', ')}`];
  const merged: Struck[][] = [];
  for (const time of blind.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last !== undefined && time.from - last.at(-1)!.to < ONE_BLINDNESS) last.push(time);
    else merged.push([time]);
  }
  // A failover forgets for how long the site was failing.
  const failovers = struck.filter(({ kind }) => kind === 'lossy failover');
  const mustBeAnnounced = ({ kind, from, to }: Struck): boolean =>
    to - from >= (ANNOUNCED_AFTER[kind] ?? 0) && !failovers.some((other) => other.from < to && from < other.to);
  const expected = merged.filter((times) => times.some(mustBeAnnounced)).length;
  if (announced > blind.length) wrong.push(`${announced} times site.unreachable for ${blind.length} times of blindness`);
  if (blind.length > 0 && expected === 0)
    wrong.push('no blindness lasted until it had to be announced: the storm shows nothing about that');
  if (announced < expected) wrong.push(`${announced} times site.unreachable for ${expected} long times of blindness`);
  return wrong.map((each) => `${site}: ${each}`);
}

/** Faults in which what Slack took may not be recorded: then the message is sent again, as is promised of all deliveries. */
const INTERRUPTING = new Set<FaultKind>([
  'database path held',
  'database path lost',
  'database path refused',
  'database connections reset',
  'table locked',
  'replica frozen',
  'replica killed',
  'rows locked',
  'migration behind a reader',
]);

/** Messages that Slack took more often than deliveries and interruptions explain. */
export async function repeatedMessages({ sql, slack }: World, struck: readonly Struck[]): Promise<string[]> {
  const [row] = await sql<[{ delivered: number }]>`
    select count(*)::integer as delivered from purchase_watch_internal.deliveries d join purchase_watch_internal.subscribers s on s.id = d.subscriber
    join purchase_watch_internal.events e on e.position = d.event
    where s.audience = 'people' and d.status = 'delivered' and body::jsonb #>> '{data,postedBy}' is null`;
  // What a failover loses is sent again, too.
  const away = struck.filter(({ kind }) => kind === 'Slack away' || kind === 'lossy failover');
  const taken = slack.received.filter(({ at }) => !away.some(({ from, to }) => from <= at && at <= to));
  const direct = taken.filter(({ blocks }) => JSON.stringify(blocks ?? []).includes('posted this itself')).length;
  const interruptions = struck.filter(({ kind }) => INTERRUPTING.has(kind)).length;
  const explained = row.delivered + direct + interruptions;
  if (taken.length <= explained) return [];
  return [
    `Slack took ${taken.length} messages: ${row.delivered} deliveries, ${direct} posts of a daemon itself, ${interruptions} interruptions`,
  ];
}

/** Incidents whose beginning or end was stored for people more than once, beside posts of daemons, or that never ended. */
export async function wrongIncidents({ sql }: World): Promise<string[]> {
  const rows = await sql<{ id: string; kind: string; type: string; count: number }[]>`
    select e.incident as id, i.kind, case when body::jsonb #>> '{data,postedBy}' is null then e.type else 'posted' end as type, count(*)::integer as count
    from purchase_watch_internal.events e join purchase_watch_internal.incidents i on i.id = e.incident
    where e.type in ('incident.opened', 'incident.reopened', 'incident.ended') group by 1, 2, 3`;
  const of = (id: string, type: string): number => rows.find((row) => row.id === id && row.type === type)?.count ?? 0;
  const ids = [...new Set(rows.map(({ id }) => id))];
  return ids.flatMap((id) => {
    const types = ['incident.opened', 'incident.reopened', 'incident.ended', 'posted'];
    const [opened, reopened, ended, posted] = types.map((type) => of(id, type));
    const kind = rows.find((row) => row.id === id)!.kind;
    if (opened! > 1) return [`${kind} incident ${id} was opened ${opened} times`];
    if (ended! > Math.max(opened!, Math.min(posted!, 1)) + reopened!) return [`${kind} incident ${id} ended ${ended} times`];
    return [];
  });
}

/** How long polls are refused at least when people must hear of it: a minute until it is trouble, and a message. */
const REFUSED_HEARD_AFTER = 90_000;

/** Long times in which no poll could be recorded and that people never heard of, or whose incident never ended. */
export async function unheardRefusals({ sql, slack }: World, struck: readonly Struck[]): Promise<string[]> {
  const [row] = await sql<[{ open: number }]>`
    select count(*)::integer as open from purchase_watch_internal.incidents where kind = 'replica' and ended_at is null`;
  const wrong = row.open === 0 ? [] : [`${row.open} incidents about replicas are still open`];
  const heard = slack.received.filter(({ blocks }) => /polls are not recorded/i.test(JSON.stringify(blocks ?? [])));
  for (const { kind, from, to } of struck) {
    if (kind !== 'recording refused' || to - from < REFUSED_HEARD_AFTER) continue;
    if (!heard.some(({ at }) => at > from && at < to + REFUSED_HEARD_AFTER))
      wrong.push(`Slack heard nothing of ${to - from} ms in which no poll could be recorded`);
  }
  return wrong;
}

/** Words of the log that stand for a bug, whatever the weather: the patrol finds only what no memory and no cursor knew. */
const BUGS = ['queue.found_overdue', 'poll.undecided', 'uncaughtException', 'unhandledRejection', 'TypeError', 'RangeError'];
const linesWith = ({ replicas, older }: World, words: readonly string[]): string[] =>
  [...replicas, older].flatMap((replica) =>
    replica
      .output()
      .split('\n')
      .filter((line) => words.some((word) => line.includes(word)))
      .map((line) => `${replica.name}: ${line.slice(0, 500)}`),
  );

export const bugsInTheLogs = (world: World): string[] => linesWith(world, BUGS);

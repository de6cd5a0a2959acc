/** Sending a prepared outbox, settled row by row, beside a bare loop that posts the same signed bytes. */
import { type Bench, compete } from './bench.ts';
import { type Database, IN_FLIGHT, type Part, SECRET } from './lab.ts';
import { median, until } from './measure.ts';
import { signedHeaders } from './processes/signed-headers.ts';
import { seed } from './seed.ts';

const EVENT_ID = 'evt_01JD3K7Q6V2N8Y4T5R9W0XABCD';
const BODY =
  '{"id":"evt_01JD3K7Q6V2N8Y4T5R9W0XABCD","type":"purchase.state_changed","timestamp":"2026-11-20T09:15:02.123Z","data":{"site":"default","purchaseId":"00000000-0000-4000-8000-000000000000","sequence":3,"from":{"value":6,"name":"WaitingForCardPayments"},"to":{"value":2,"name":"Completed"},"notBefore":"2026-11-20T09:14:57.001Z","notAfter":"2026-11-20T09:15:02.123Z","final":true,"reference":"ORD-004711","metadata":{"cart":7},"price":249.50,"currency":"SEK","orderReference":"ORD-004711"}}';

export const send: Bench = async (lab, { quick, say }) => {
  const count = quick ? 6_000 : 60_000;
  const database = await lab.database();
  await seed(database.sql, { count, dueEach: 0 });
  const [bare, receiver] = await Promise.all([lab.start('bare-send'), lab.start('receiver')]);
  const url = await receiver.ask<string>('url');
  const { daemon } = await lab.daemon(database, {
    every: null,
    env: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET, WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' },
  });
  const headers = signedHeaders({ id: EVENT_ID, body: BODY, secret: SECRET });
  let sequence = 1;
  const costs: { daemon: number; receiver: number; postgres: number }[] = [];
  const bareCosts: number[] = [];
  const micros = (ms: number): number => (ms / count) * 1_000;
  const cpuMs = async (part: Part): Promise<number> => (await part.usage()).cpuMs;
  const drain = async (): Promise<number> => {
    sequence += 1;
    daemon.resume();
    await prepare(database, sequence);
    const received = await receiver.ask<number>('received');
    const before = await Promise.all([cpuMs(daemon), cpuMs(receiver), lab.postgres() ?? Number.NaN]);
    const started = performance.now();
    await database.sql`select pg_notify('purchase_watch_wake', 'deliveries')`;
    // The database is asked only at the end: looking for what is pending costs as much as sending.
    await until('all are received', async () => (await receiver.ask<number>('received')) >= received + count, 120_000, 5);
    await until('the outbox is empty', () => isEmpty(database), 120_000, 5);
    const took = performance.now() - started;
    costs.push({
      daemon: micros((await cpuMs(daemon)) - before[0]),
      receiver: micros((await cpuMs(receiver)) - before[1]),
      postgres: micros((lab.postgres() ?? Number.NaN) - before[2]),
    });
    daemon.pause();
    return (count / took) * 1_000;
  };
  const post = async (): Promise<number> => {
    const before = await cpuMs(bare);
    const { ms } = await bare.ask<{ ms: number }>('run', { url, headers, body: BODY, inFlight: IN_FLIGHT, count });
    bareCosts.push(micros((await cpuMs(bare)) - before));
    return (count / ms) * 1_000;
  };
  say('warming up');
  for (let turn = 0; turn < 3; turn++) {
    await drain();
    await post();
  }
  costs.splice(0);
  bareCosts.splice(0);
  const [reference, ours] = await compete(
    [
      { name: 'bare loop', turn: post },
      { name: 'daemon', turn: drain },
    ],
    quick ? 3 : 5,
    say,
  );
  await Promise.all([daemon.stop(), bare.stop(), receiver.stop()]);
  await database.drop();
  const cost = (part: keyof (typeof costs)[number]): number => median(costs.map((each) => each[part]));
  const bareCost = median(bareCosts);
  return {
    bench: 'send',
    how: `${count} events a round for one subscriber, each of another purchase, ${IN_FLIGHT} in flight`,
    rows: [
      { what: 'bare loop posting signed bytes', value: reference!.rate, unit: '/s' },
      { what: 'daemon, loaded, signed, sent, settled', value: ours!.rate, unit: '/s' },
      { what: 'daemon to bare loop', value: ours!.ratio, unit: 'ratio', atLeast: 0.6 },
      { what: 'processor time of a post, bare loop', value: bareCost, unit: 'µs' },
      { what: 'processor time of a delivery, daemon', value: cost('daemon'), unit: 'µs' },
      { what: 'processor time of a delivery, Postgres', value: cost('postgres'), unit: 'µs' },
      { what: 'processor time of a delivery, receiver', value: cost('receiver'), unit: 'µs' },
      { what: "the bare loop's processor time to the daemon's", value: bareCost / cost('daemon'), unit: 'ratio', atLeast: 0.6 },
    ],
  };
};

/** One more event for every purchase, all of them due at the commit. */
async function prepare({ sql }: Database, sequence: number): Promise<void> {
  await sql`
    with event as (
      insert into purchase_watch_internal.events (id, type, site, purchase, sequence, previous, shard, state, created_at, body)
      select 'evt_' || ${sequence}::integer || '_' || id, 'purchase.state_changed', site, id, ${sequence}, ${sequence - 1}, shard, 6, now(), ${BODY}
      from purchase_watch.purchases returning position, purchase, shard)
    insert into purchase_watch_internal.deliveries (event, lane, subscriber, shard, due_at)
    select e.position, e.purchase, s.id, e.shard, now() from event e, purchase_watch_internal.subscribers s where s.configured`;
}

async function isEmpty({ sql }: Database): Promise<boolean> {
  const rows = await sql`select from purchase_watch_internal.deliveries where status = 'pending' limit 1`;
  return rows.length === 0;
}

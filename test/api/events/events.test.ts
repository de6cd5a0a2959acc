/** The event feed over HTTP, of a daemon whose loops run. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createApi } from '../../../src/api/routes.ts';
import { hashOfKey, ofMachine } from '../../../src/config/api-keys.ts';
import { decimal } from '../../../src/domain/values/exact-json.ts';
import { connect, type Sql } from '../../../src/postgres/connection/database.ts';
import { createHealth } from '../../../src/runtime/loops/health.ts';
import { announce } from '../../support/announce.ts';
import { AS_MACHINE, fetchAsMachine, MACHINE_KEY } from '../../support/machine.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { PLANS, startTestApi } from '../api.ts';
import { type EventStream, openStream } from '../event-stream.ts';

let t: TestApp;
let sql: Sql;
/** A connection that holds transactions open. */
let other: Sql;
/** Nobody else's queries run on it. */
let watcher: Sql;
let end: string;
const streams: EventStream[] = [];
const setTimer = globalThis.setTimeout;
/** The feed is looked at again five seconds after the last look, and a server breaks connections two seconds after its end. */
const isLastResort = (rest = 0): boolean => rest === 2_000 || (rest > 4_000 && rest <= 5_000);
let allowsLastResorts = false;
beforeAll(async () => {
  // Unless a test allows it, neither ever happens here: what ends a wait or a connection was woken or told to, however slow the
  // machine is.
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, rest?: number, ...values: []) =>
    setTimer(run, isLastResort(rest) && !allowsLastResorts ? 2 ** 31 - 1 : rest, ...values)) as typeof setTimeout);
  t = await startTestApp({ inventsEvents: true, realClock: true });
  await t.app.start();
  sql = t.database.sql;
  other = connect(t.database.url, { max: 1 });
  watcher = connect(t.database.url, { max: 1 });
  end = (await get('?after=latest')).body.nextCursor;
});
afterAll(async () => {
  await Promise.all([other.end(), watcher.end()]);
  await t.stop();
  vi.restoreAllMocks();
});
// Left open by a test that failed, it would hold up all that follow.
afterEach(() => other`rollback`);
beforeEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  // Before it lies all that former tests wrote, however late the feed shows it.
  const mark = await announce(sql);
  for (let found: string[] = []; !found.includes(mark); ) {
    const page = await get(`?after=${end}&limit=1000`);
    end = page.body.nextCursor;
    found = idsOf(page);
  }
});

interface Answer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

async function get(query: string): Promise<Answer> {
  const response = await fetchAsMachine(`${t.app.url()}/v1/events${query}`);
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}
const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id);
/**
 * The page, once it shows so many. While another transaction begins, be it of another test's database, it may end earlier for
 * a moment; what it has shown by then is a beginning of the whole.
 */
async function pageOf(query: string, ids: readonly string[]): Promise<Answer> {
  for (;;) {
    const answer = await get(query);
    const found = idsOf(answer);
    expect(found).toEqual(ids.slice(0, found.length));
    if (found.length === ids.length) return answer;
    await delay(5);
  }
}
const streamed = (stream: EventStream): string[] => stream.events().map(({ data }) => JSON.parse(data).id);

async function follow(query = `?after=${end}`, headers: Record<string, string> = {}): Promise<EventStream> {
  const stream = await openStream(`${t.app.url()}/v1/events/stream${query}`, headers);
  streams.push(stream);
  return stream;
}

const now = async (): Promise<string> => (await sql<[{ now: string }]>`select clock_timestamp()::text as now`)[0].now;

/** Asks, and goes on when the feed was looked at in vain: from then on it is waited for. */
async function whileWaiting<T>(ask: () => Promise<T>): Promise<{ answer: Promise<T> }> {
  const since = await now();
  const answer = ask();
  const looks = () => watcher`
    select from pg_stat_activity where datname = current_database() and state = 'idle' and query like ${'%feed_page%'}
      and query_start > ${since}::text::timestamptz`;
  await expect.poll(async () => (await looks()).length).toBeGreaterThan(0);
  return { answer };
}

describe('a page', () => {
  test('begins with the oldest event, ends where asked, and its cursor goes on from there', async () => {
    const ids = [await announce(sql), await announce(sql), await announce(sql)];
    const first = await pageOf(`?after=${end}&limit=2`, ids.slice(0, 2));
    const second = await pageOf(`?after=${first.body.nextCursor}&limit=2`, ids.slice(2));
    const third = await get(`?after=${second.body.nextCursor}`);
    expect(third.body).toEqual({ data: [], nextCursor: expect.any(String) });
    await expect.poll(async () => idsOf(await get('?limit=1000')).slice(-3)).toEqual(ids);
    await pageOf(`?after=${ids[1]}`, [ids[2]!]);
  });

  test('holds only the types that are asked for', async () => {
    const down = await announce(sql, { type: 'site.unreachable' });
    await announce(sql, { type: 'incident.opened' });
    const up = await announce(sql, { type: 'site.reachable' });
    await pageOf(`?after=${end}`, [down, up]);
    await pageOf(`?after=${end}&types=site.reachable`, [up]);
    await pageOf(`?after=${end}&types=purchase.stuck,%20site.unreachable,site.unreachable`, [down]);
  });

  test('ends sooner where events are large, and its cursor goes on from there; the stream has them all, too', async () => {
    const large = { text: 'x'.repeat(400_000) };
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await announce(sql, { data: large }));
    const first = await pageOf(`?after=${end}`, ids.slice(0, 3));
    await pageOf(`?after=${first.body.nextCursor}`, ids.slice(3));
    const stream = await follow();
    await stream.until((each) => each.events().length === 5);
    expect(streamed(stream)).toEqual(ids);
  });

  test('holds the bytes that webhooks got', async () => {
    const data = { amount: decimal('249.50'), text: 'Å\u2028"\n', deep: { a: [1, null] } };
    const id = await announce(sql, { type: 'site.unknown_state', data });
    const [received] = (await t.receiver.waitFor((all) => all.some((each) => each.headers['webhook-id'] === id))).filter(
      (each) => each.headers['webhook-id'] === id,
    );
    expect(received!.verified).toBe(true);
    expect(received!.body).toContain('249.50');
    const { text, body } = await pageOf(`?after=${end}`, [id]);
    expect(text).toBe(`{"data":[${received!.body}],"nextCursor":"${body.nextCursor}"}`);
    const stream = await follow();
    await stream.until((each) => each.events().length === 1);
    expect(stream.events()[0]!.data).toBe(received!.body);
  });

  test.each([
    ['types=purchase.stock', 'types', 'did you mean purchase.stuck?'],
    ['types=', 'types', 'empty name'],
    ['types=incident.opened', 'types', 'is not an event type'],
    ['types=site.reachable&types=site.unreachable', 'types', 'more than once'],
    ['limit=1001', 'limit', 'from 1 to 1000'],
    ['wait=31s', 'wait', '30s at most'],
    ['after=yesterday', 'after', 'nextCursor'],
    ['after=ZjE6MC4wLjB4', 'after', 'nextCursor'],
    ['cursor=x', 'cursor', 'known: after, types, limit, wait'],
  ])('%s is refused with what to do', async (query, field, detail) => {
    const { status, body } = await get(`?${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors).toEqual([expect.objectContaining({ field, detail: expect.stringContaining(detail) })]);
  });

  test('cannot go on from an event that is not kept, or from beyond the end', async () => {
    const gone = await get('?after=evt_01KAGZ6C8RQ3T5V7X9Z1B3D5F7');
    expect([gone.status, gone.body.code]).toEqual([400, 'unknown_event']);
    expect(gone.body.detail).toContain('give latest');
    const beyond = Buffer.from('f1:9.9000000000000000000.1').toString('base64url');
    const ahead = await get(`?after=${beyond}`);
    expect([ahead.status, ahead.body.code]).toEqual([400, 'unknown_event']);
    expect(ahead.body.detail).toContain('set back');
  });
});

describe('waiting', () => {
  test('ends with the commit of what is waited for', async () => {
    const { answer } = await whileWaiting(() => get(`?after=${end}&wait=30s&types=site.reachable`));
    await announce(sql, { type: 'site.unreachable' });
    await other`begin`;
    const id = await announce(other);
    await other`commit`;
    expect(idsOf(await answer)).toEqual([id]);
  });

  test('answers at once when there is something, and with an empty page when nothing came', async () => {
    expect((await get(`?after=${end}&wait=100ms`)).body.data).toEqual([]);
    const id = await announce(sql);
    expect(idsOf(await get(`?after=${end}&wait=30s`))).toEqual([id]);
  });

  test('ends soon after a transaction that held up the feed was rolled back, which nobody tells', async () => {
    await other`begin`;
    await announce(other);
    const id = await announce(sql);
    const { answer } = await whileWaiting(() => get(`?after=${end}&wait=30s`));
    await other`rollback`;
    expect(idsOf(await answer)).toEqual([id]);
  });

  test('ends when the server closes, and for whoever hangs up', async () => {
    const api = await startTestApi({ sql });
    const hangUp = new AbortController();
    const { answer: left } = await whileWaiting(() =>
      fetchAsMachine(`${api.url}/v1/events?after=latest&wait=29s`, { signal: hangUp.signal }),
    );
    const { answer } = await whileWaiting(() => api.call('GET', '/v1/events?after=latest&wait=30s'));
    hangUp.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(() => api.lines.filter((line) => line.includes('api.answered')).length).toBe(1);
    await api.close();
    // An answer, and no broken connection, which comes two seconds later.
    expect((await answer).body.data).toEqual([]);
  });
});

describe('a transaction that is held open', () => {
  test.each(['commit', 'rollback'] as const)(
    'is not passed by pages or streams, and after its %s all comes once',
    async (how) => {
      const stream = await follow();
      await other`begin`;
      const late = await announce(other);
      const ids = [await announce(sql), await announce(sql)];
      const early = await get(`?after=${end}`);
      expect(early.body.data).toEqual([]);
      // Whoever knows an event from elsewhere is not led past what was written before it.
      const known = await get(`?after=${ids[1]}`);
      await other.unsafe(how);
      const expected = how === 'commit' ? [late, ...ids] : ids;
      await pageOf(`?after=${early.body.nextCursor}`, expected);
      await pageOf(`?after=${known.body.nextCursor}`, expected);
      const last = await announce(sql);
      await stream.until((each) => streamed(each).includes(last));
      expect(streamed(stream)).toEqual([...expected, last]);
    },
  );
});

describe('a stream', () => {
  test('says what it is and where it begins, and tells each event with its cursor and type', async () => {
    const stream = await follow('');
    expect(stream.status).toBe(200);
    expect(['content-type', 'cache-control', 'x-accel-buffering'].map((name) => stream.headers.get(name))).toEqual([
      'text/event-stream',
      'no-store',
      'no',
    ]);
    await stream.until((each) => each.text().startsWith('retry: 2000\nid: '));
    const id = await announce(sql, { type: 'site.unreachable' });
    await stream.until((each) => each.events().length === 1);
    const [event] = stream.events();
    expect([event!.event, JSON.parse(event!.data).id]).toEqual(['site.unreachable', id]);
    const next = await announce(sql);
    await pageOf(`?after=${event!.id}`, [next]);
  });

  test('loses and repeats nothing when it is opened again with the last id, however often', async () => {
    const ids: string[] = [];
    let writing = true;
    const write = async (): Promise<void> => {
      while (writing) {
        ids.push(await announce(sql));
        await delay(1);
      }
    };
    const writer = write();
    const seen: string[] = [];
    for (let last = end, round = 0; round < 8; round++) {
      const stream = await follow('?after=latest', { 'last-event-id': last });
      await stream.until((each) => each.events().length > round * 3);
      stream.close();
      await stream.ended;
      seen.push(...streamed(stream));
      last = stream.lastId();
    }
    writing = false;
    await writer;
    expect(seen.length).toBeGreaterThan(50);
    expect(seen).toEqual(ids.slice(0, seen.length));
  });

  test('that broke off before its first event goes on from where it began', async () => {
    const first = await follow('');
    await first.until((each) => each.lastId() !== '');
    first.close();
    const id = await announce(sql);
    const second = await follow('', { 'last-event-id': first.lastId() });
    await second.until((each) => each.events().length === 1);
    expect(streamed(second)).toEqual([id]);
  });

  test('goes on after an event known by its id, and is filtered by type', async () => {
    const [known, down, up] = [await announce(sql), await announce(sql, { type: 'site.unreachable' }), await announce(sql)];
    const stream = await follow('?types=site.reachable', { 'last-event-id': known });
    await stream.until((each) => each.events().length > 0);
    expect(streamed(stream)).toEqual([up]);
    expect(down).not.toBe(up);
  });

  test('brings a long past in order', async () => {
    const rows = await sql<{ id: string }[]>`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_past' || n, 'site.reachable', 'default', 0, now(), '{"id":"evt_past' || n || '","filler":"' || repeat('x', 2000) || '"}'
      from generate_series(1, 1700) n returning id`;
    const stream = await follow();
    await stream.until((each) => each.events().length >= 1_700);
    expect(streamed(stream)).toEqual(rows.map(({ id }) => id));
  });

  test('reads no further than its reader', async () => {
    await sql`
      insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
      select 'evt_slow' || n, 'site.reachable', 'default', 0, now(), '{}' from generate_series(1, 3000) n`;
    let pages = 0;
    const counting = new Proxy(sql, {
      apply: (target, self, given) => {
        if (String(given[0]).includes('feed_page')) pages += 1;
        return Reflect.apply(target, self, given);
      },
    });
    const settings = { apiKeys: [ofMachine(MACHINE_KEY)], sites: [], ...PLANS };
    const log = { debug: () => undefined } as never;
    const api = createApi({ sql: counting, settings, health: createHealth(() => 0), log });
    const response = await api.request(`http://127.0.0.1/v1/events/stream?after=${end}`, { headers: AS_MACHINE });
    const reader = response.body!.getReader();
    await reader.read();
    await reader.read();
    for (let n = 0; n < 20; n++) await get('?after=latest');
    expect(pages).toBe(1);
    await reader.cancel();
  });

  test('that was given a wrong place is refused, not opened', async () => {
    for (const [last, code] of [
      ['nonsense', 'invalid_request'],
      ['evt_01KAGZ6C8RQ3T5V7X9Z1B3D5F7', 'unknown_event'],
    ] as const) {
      const response = await fetchAsMachine(`${t.app.url()}/v1/events/stream`, { headers: { 'last-event-id': last } });
      const body = (await response.json()) as { code: string; errors: { field: string }[] };
      expect([response.status, body.code, body.errors[0]!.field]).toEqual([400, code, 'last-event-id']);
    }
  });

  test('shows that it lives, and how far there was nothing for it', async () => {
    // Nothing wakes this server.
    allowsLastResorts = true;
    onTestFinished(() => {
      allowsLastResorts = false;
    });
    const api = await startTestApi({ sql, streams: { most: 2, silence: 30 } });
    const stream = await openStream(`${api.url}/v1/events/stream?types=site.unreachable`);
    streams.push(stream);
    await stream.until((each) => each.lastId() !== '');
    const begin = stream.lastId();
    await announce(sql);
    await stream.until((each) => each.text().includes('\n: nothing new\nid: ') && each.lastId() !== begin);
    expect(stream.events()).toEqual([]);
    await api.close();
    await stream.ended;
  });

  test('beyond the most is refused until another one ends; a HEAD is none', async () => {
    const api = await startTestApi({ sql, streams: { most: 2, silence: 10_000 } });
    const url = `${api.url}/v1/events/stream`;
    const head = await Promise.all([1, 2, 3].map(() => fetchAsMachine(url, { method: 'HEAD' })));
    expect(head.map(({ status, headers }) => `${status} ${headers.get('content-type')}`)).toEqual(
      Array(3).fill('200 text/event-stream'),
    );
    await api.call('GET', '/v1/events/stream?after=evt_nobody');
    const [first, second] = [await openStream(url), await openStream(url)];
    const refused = await api.call('GET', '/v1/events/stream');
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([503, 'too_many_streams', '30']);
    first.close();
    await expect
      .poll(async () => {
        const again = await openStream(url);
        streams.push(again);
        return again.status;
      })
      .toBe(200);
    // The server's end is the end of all.
    await api.close();
    await second.ended;
  });

  test('ends when its database is away, and the next one is told so', async () => {
    const own = connect(t.database.url, { max: 2 });
    const api = await startTestApi({ sql: own, streams: { most: 2, silence: 20 } });
    const stream = await openStream(`${api.url}/v1/events/stream`);
    await own.end({ timeout: 0 });
    await stream.ended;
    await expect
      .poll(() => api.lines.some((line) => line.includes('api.unavailable') && line.includes('/v1/events/stream')))
      .toBe(true);
    expect((await api.call('GET', '/v1/events/stream')).status).toBe(503);
    await api.close();
  });
});

test('streams are bounded for each key, and other keys have places left', async () => {
  const keys = { apiKey: 'w'.repeat(20), apiReadKey: 'r'.repeat(20) };
  const api = await startTestApi({ sql, ...keys, streams: { most: 3, ofKey: 2, silence: 10_000 } });
  const open = async (key: string) => {
    const stream = await openStream(`${api.url}/v1/events/stream`, { authorization: `Bearer ${key.repeat(20)}` });
    streams.push(stream);
    return stream;
  };
  const [first] = [await open('r'), await open('r')];
  const refused = await open('r');
  await refused.ended;
  expect([refused.status, refused.text()]).toEqual([503, expect.stringContaining('2 streams of the key API_READ_KEY')]);
  expect((await open('w')).status).toBe(200);
  expect([(await open('w')).status, (await open('r')).status]).toEqual([503, 503]);
  first!.close();
  await expect.poll(async () => (await open('r')).status).toBe(200);
  await api.close();
});

test('a reading key is enough, until it expires', async () => {
  const ending = { name: 'ending', scopes: ['read'], hash: hashOfKey('e'.repeat(20)), expires: Date.now() + 3_000 } as const;
  const api = await startTestApi({ sql, apiKey: 'w'.repeat(20), apiReadKey: 'r'.repeat(20), apiKeys: [ending] });
  const followed = await openStream(`${api.url}/v1/events/stream`, { authorization: `Bearer ${'e'.repeat(20)}` });
  expect(followed.status).toBe(200);
  const headers = { authorization: `Bearer ${'r'.repeat(20)}` };
  expect((await api.call('GET', '/v1/events', { headers })).status).toBe(200);
  const stream = await openStream(`${api.url}/v1/events/stream`, headers);
  expect([stream.status, (await api.call('GET', '/v1/events/stream')).status]).toEqual([200, 401]);
  await followed.ended;
  expect(Date.now()).toBeGreaterThanOrEqual(ending.expires);
  await api.close();
});

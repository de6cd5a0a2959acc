import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, type Queries, type Sql } from '../../src/postgres/connection/database.ts';
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts';
import { migrate } from '../../src/postgres/migrations/migrate.ts';
import { syncSites } from '../../src/postgres/polling/sites.ts';
import { findPurchases } from '../../src/postgres/purchases/purchases.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { startTestApp } from '../support/test-app.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const PAGE = readFileSync(join(import.meta.dirname, '../../docs/sql.md'), 'utf8');
const REGISTRAR = 'purchase_watch_registrar';
const READER = 'purchase_watch_reader';

/** Programs rely on these: a name or a type may not change, and what is added goes to the end. */
const VIEWS: Readonly<Record<string, string>> = {
  current_purchases: `purchase_id text, site text, status text, state integer, state_name text, state_since timestamp with time zone,
    stuck_since timestamp with time zone, registered_at timestamp with time zone, registered_by text,
    last_polled_at timestamp with time zone, next_poll_at timestamp with time zone, ended_at timestamp with time zone,
    polls bigint, failures integer, last_error text, reference text, metadata jsonb, price numeric, currency text,
    order_reference text, details json, next_poll_reason text`,
  stuck_purchases: `purchase_id text, site text, state integer, state_name text, state_since timestamp with time zone,
    stuck_since timestamp with time zone, last_polled_at timestamp with time zone, reference text, metadata jsonb, details json,
    waiting interval, price numeric, currency text, order_reference text`,
  transitions: `purchase_id text, site text, sequence integer, from_state integer, from_name text, to_state integer, to_name text,
    not_before timestamp with time zone, not_after timestamp with time zone`,
  stays: `purchase_id text, site text, sequence integer, state integer, state_name text, entered_at timestamp with time zone,
    left_at timestamp with time zone, to_state integer, to_name text, seconds double precision, stuck_at timestamp with time zone,
    is_waiting boolean`,
  outcomes: `purchase_id text, site text, hour timestamp with time zone, outcome text, last_state integer, last_state_name text,
    was_stuck boolean, method text, country text, currency text, amount numeric`,
  outcome_hours: `site text, hour timestamp with time zone, outcome text, last_state integer, last_state_name text,
    was_stuck boolean, method text, country text, currency text, purchases bigint, amount numeric`,
  event_log: `event_id text, type text, site text, purchase_id text, sequence integer, created_at timestamp with time zone, body text`,
  delivery_log: `event_id text, type text, site text, purchase_id text, sequence integer, subscriber text, status text,
    attempts integer, due_at timestamp with time zone, settled_at timestamp with time zone, last_error text,
    reason text, took_ms integer, http_status integer`,
  subscriber_status: `subscriber text, kind text, health text, reason text, failures integer, failing_since timestamp with time zone,
    paused_until timestamp with time zone, last_error text, our_failing_since timestamp with time zone, our_error text`,
  open_incidents: `incident_id text, kind text, site text, state integer, state_name text, opened_at timestamp with time zone,
    since timestamp with time zone, count integer, peak integer, subscriber text, parent text, severity text, owner text`,
  site_status: `site text, configured boolean, failing_since timestamp with time zone, last_success_at timestamp with time zone,
    last_error text, failing_reason text`,
  purchase_totals: `site text, status text, state integer, stuck boolean, count bigint, state_name text`,
  registrations: `id bigint, purchase_id text, site text, reference text, metadata jsonb, registered_at timestamp with time zone`,
};

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await testDatabase();
  sql = database.sql;
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate purchase_watch.purchases, purchase_watch_internal.nudges, purchase_watch_internal.events, purchase_watch_internal.subscribers, purchase_watch_internal.outcome_hours cascade`;
  await syncSites(sql, ['default', 'se']);
});

describe('views', () => {
  const described = () => sql<{ view: string; about: string | null; column: string; type: string; meaning: string | null }[]>`
    select c.relname as view, obj_description(c.oid, 'pg_class') as about, a.attname as column,
      format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as meaning
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'purchase_watch'::regnamespace and c.relkind in ('v', 'm')
    order by array_position(${Object.keys(VIEWS)}::text[], c.relname::text), a.attnum`;

  test('are these, with these columns in this order', async () => {
    const found: Record<string, string[]> = {};
    for (const { view, column, type } of await described()) {
      found[view] ??= [];
      found[view].push(`${column} ${type}`);
    }
    expect(found).toEqual(Object.fromEntries(Object.entries(VIEWS).map(([view, columns]) => [view, columns.split(/,\s+/)])));
  });

  test('are explained by the catalogue, and the page says the same: what several views share, once', async () => {
    const views = new Map<string, { about: string; rows: Map<string, string> }>();
    for (const { view, about, column, type, meaning } of await described()) {
      if (!views.has(view)) views.set(view, { about: about!, rows: new Map() });
      const row = `| \`${column}\` | ${type.replace('timestamp with time zone', 'timestamptz')} | ${meaning} |`;
      views.get(view)!.rows.set(column, row);
    }
    const sectionOf = (heading: string): string => PAGE.split(`### ${heading}\n\n`)[1]!.split('\n### ', 1)[0]!;
    const shared = sectionOf('Columns of several views');
    for (const [view, { about, rows }] of views) {
      const section = sectionOf(view);
      expect([about, ...rows.values()].filter((text) => text.includes('null |'))).toEqual([]);
      expect(section.startsWith(`${about}\n\n`), view).toBe(true);
      const [, also = ''] = /^Also \[of several views\][^:]*: (.*)\.$/m.exec(section) ?? [];
      for (const [column, row] of rows)
        expect(also.includes(`\`${column}\``) ? shared : section, `${view}.${column}`).toContain(row);
      expect(section.match(/^\| `/gm)?.length ?? 0, view).toBe(rows.size - (also.match(/`\w+`/g)?.length ?? 0));
    }
  });

  test('an incident is in the care of whoever looks after the one that tells of it', async () => {
    const undo = new Error('undo');
    const run = sql.begin(async (tx) => {
      await tx`insert into purchase_watch_internal.sites (name) values ('default') on conflict do nothing`;
      await tx`
        insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, acknowledged_at, acknowledged_by)
        values ('inc_all', 'stuck', null, null, now(), now(), 5, 5, now(), 'Kim'), ('inc_site', 'stuck', 'default', null, now(), now(), 5, 5, null, null),
          ('inc_card', 'stuck', 'default', 6, now(), now(), 3, 3, null, null), ('inc_own', 'stuck', 'default', 7, now(), now(), 2, 2, now(), 'Ann')`;
      await tx`update purchase_watch_internal.incidents set parent = case id when 'inc_site' then 'inc_all' else 'inc_site' end where id <> 'inc_all'`;
      const rows = await tx`select incident_id as id, owner from purchase_watch.open_incidents order by 1`;
      expect(rows.map(({ id, owner }) => [id, owner])).toEqual([
        ['inc_all', 'Kim'],
        ['inc_card', 'Kim'],
        ['inc_own', 'Ann'],
        ['inc_site', 'Kim'],
      ]);
      throw undo;
    });
    await expect(run).rejects.toBe(undo);
  });

  test('the statements of the page work', async () => {
    const undo = new Error('undo');
    // Blocks that say so are followed by another test.
    const blocks = [...PAGE.matchAll(/^(<!-- not run.*\n)?```sql\n([\s\S]*?)^```/gm)].flatMap(([, notRun, text]) =>
      notRun === undefined ? text! : [],
    );
    expect(blocks.length).toBeGreaterThan(3);
    await syncSites(sql, ['default']);
    const run = sql.begin(async (tx) => {
      for (const block of blocks)
        await tx.unsafe(
          block.replace('role shop', 'role purchase_watch_test_shop').replace('to shop', 'to purchase_watch_test_shop'),
        );
      throw undo;
    });
    await expect(run).rejects.toBe(undo);
  });

  test.each([
    ['"249.50"', '249.50'],
    ['249.50', '249.50'],
    ['-1e2', '-100'],
    ['1e999999', null],
    ['"much"', null],
    ['{"sum": 1}', null],
    ['null', null],
    ['""', null],
  ])('a price of %s is shown as %s, and breaks no list', async (stored, price) => {
    await sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
    await sql`insert into purchase_watch_internal.purchase_details select id, ${`{"Price": ${stored}, "CurrencyCode": "SEK"}`}::text::json from purchase_watch.purchases`;
    const rows = await sql`select price, currency from purchase_watch.current_purchases`;
    expect(rows).toEqual([{ price, currency: 'SEK' }]);
  });

  test.each(['\\u0000', '\\ud800'])('a field with %s, which is no text in Postgres, breaks no list', async (escaped) => {
    await sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
    await sql`insert into purchase_watch_internal.purchase_details select id, ${`{"Price": 1, "OrderReference": "a${escaped}"}`}::text::json from purchase_watch.purchases`;
    for (const view of ['current_purchases', 'stuck_purchases']) {
      const rows = await sql`select price, order_reference, details::text from ${sql(`purchase_watch.${view}`)}`;
      expect(rows).toEqual([{ price: null, orderReference: null, details: `{"Price": 1, "OrderReference": "a${escaped}"}` }]);
    }
  });

  test('find a purchase by its ID alone, an event by its own, and counts by their hour, without reading the others', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id, site) select 'p-' || i, (array['default', 'se'])[1 + i % 2] from generate_series(1, 5000) i`;
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
    await sql`insert into purchase_watch_internal.purchase_details select id, '{"Price": 1}' from purchase_watch.purchases`;
    await sql`insert into purchase_watch_internal.purchase_transitions (purchase, sequence, to_state, not_after) select id, 1, 6, now() from purchase_watch.purchases`;
    await sql`insert into purchase_watch_internal.events (id, type, site, purchase, sequence, shard, created_at, body)
      select 'evt_' || id, 'purchase.state_changed', site, id, 1, shard, now(), '{}' from purchase_watch.purchases`;
    await sql`insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash) values ('shop', 'webhook', 'systems', 'x')`;
    await sql`insert into purchase_watch_internal.deliveries (event, lane, due_at, subscriber, shard)
      select position, purchase, now(), (select id from purchase_watch_internal.subscribers), shard from purchase_watch_internal.events`;
    await sql.unsafe(
      'analyze purchase_watch.purchases, purchase_watch_internal.purchase_details, purchase_watch_internal.purchase_transitions',
    );
    await sql.unsafe(
      'analyze purchase_watch_internal.events, purchase_watch_internal.deliveries, purchase_watch_internal.subscribers',
    );
    await sql`insert into purchase_watch_internal.outcome_hours (hour, customers, amount, was_stuck, outcome, site)
      select now() - i * interval '1 hour', 1, 0, false, 'paid', s from generate_series(1, 5000) i, unnest(array['default', 'se']) s`;
    await sql.unsafe('analyze purchase_watch_internal.outcome_hours');
    const questions = [
      ['outcome_hours', "hour >= now() - interval '1 day'"] as const,
      ...[
        'current_purchases',
        'stuck_purchases',
        'transitions',
        'stays',
        'outcomes',
        'event_log',
        'delivery_log',
        'registrations',
      ].map((view) => [view, "purchase_id = 'p-77'"] as const),
      ...['event_log', 'delivery_log'].map((view) => [view, "event_id = 'evt_77'"] as const),
    ];
    for (const [view, condition] of questions) {
      const plan = await sql.unsafe<{ 'QUERY PLAN': string }[]>(
        `explain select * from purchase_watch.${view} where ${condition}`,
      );
      const read = plan.map((row) => /Seq Scan on (\w+)/.exec(row['QUERY PLAN'])?.[1]).filter((table) => table !== undefined);
      expect(
        read.filter((table) => table !== 'sites' && table !== 'subscribers'),
        `${view} where ${condition}`,
      ).toEqual([]);
    }
  });

  test('show what happened to a purchase, each under its own name', async () => {
    const t = await startTestApp({ inventsEvents: true });
    try {
      const heard = Promise.withResolvers<string>();
      const plain = connect(t.database.url, { max: 1 });
      await plain.listen('purchase_watch_events', heard.resolve);
      const purchaseId = await t.watch({ script: 'card-paid' });
      await t.app.pollOnce();
      await t.app.deliverOnce();
      const [event] = await plain`select * from purchase_watch.event_log where purchase_id = ${purchaseId}`;
      expect(event).toMatchObject({
        eventId: await heard.promise,
        type: 'purchase.state_changed',
        site: 'default',
        sequence: 1,
      });
      expect(JSON.parse(event!.body as string)).toMatchObject({ id: event!.eventId, data: { purchaseId } });
      expect(await plain`select * from purchase_watch.transitions`).toMatchObject([
        { purchaseId, site: 'default', sequence: 1, fromState: null, fromName: null, toName: expect.any(String) },
      ]);
      expect(await plain`select * from purchase_watch.delivery_log where event_id = ${event!.eventId as string}`).toMatchObject([
        { purchaseId, subscriber: 'default', status: 'delivered', attempts: 1, lastError: null },
      ]);
      expect(await plain`select * from purchase_watch.current_purchases`).toMatchObject([
        { purchaseId, status: 'watching', polls: 1, failures: 0, registeredBy: 'api' },
      ]);
      expect(await plain`select * from purchase_watch.site_status`).toMatchObject([{ site: 'default', configured: true }]);
      await plain.end();
    } finally {
      await t.stop();
    }
  });
});

describe('everything in the schemas says what it is', () => {
  test('tables, views and functions have comments', async () => {
    const silent = await sql`
      select oid::regclass::text as name from pg_class
      where relnamespace::regnamespace::text like 'purchase_watch%' and relkind in ('r', 'v') and obj_description(oid, 'pg_class') is null
      union all select oid::regprocedure::text from pg_proc
      where pronamespace::regnamespace::text like 'purchase_watch%' and obj_description(oid, 'pg_proc') is null`;
    expect(silent).toEqual([]);
  });

  test('and so do columns, but for those that mean the same in every table', async () => {
    const silent = await sql`
      select attrelid::regclass::text as table, attname as column from pg_attribute join pg_class c on c.oid = attrelid
      where relnamespace::regnamespace::text like 'purchase_watch%' and relkind in ('r', 'v') and attnum > 0 and not attisdropped
        and attname <> all (${['id', 'name', 'site', 'state', 'status', 'stuck', 'purchase', 'subscriber', 'delivery', 'replica', 'shard', 'at', 'since', 'created_at', 'started_at']}::text[])
        and relname <> 'migrations' and col_description(attrelid, attnum) is null`;
    expect(silent).toEqual([]);
  });

  test('the interface is the table of purchases, the views and two functions; all else is internal', async () => {
    const found = await sql<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'purchase_watch'::regnamespace and relkind not in ('i', 'S')
      union all select proname from pg_proc where pronamespace = 'purchase_watch'::regnamespace`;
    expect(found.map(({ name }) => name).sort()).toEqual(['purchases', 'set_up_roles', 'watch', ...Object.keys(VIEWS)].sort());
  });
});

describe('rights', () => {
  /** All that a role may do with the schemas, by the rights that Postgres knows. */
  const rightsOf = async (role: string): Promise<string[]> => {
    const rows = await sql<{ may: string }[]>`
      with schema as (select oid, nspname from pg_namespace where nspname in ('purchase_watch', 'purchase_watch_internal')),
      relation as (
        select c.oid, relname from pg_class c join schema on schema.oid = relnamespace where relkind in ('r', 'p', 'v', 'm', 'f'))
      select r.action || ' on schema ' || nspname as may from schema, unnest(array['usage', 'create']) as r (action)
        where has_schema_privilege(${role}, oid, r.action)
      union all select r.action || ' ' || relname from relation,
        unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as r (action)
        where has_table_privilege(${role}, oid, r.action)
      union all select r.action || ' ' || relname || '.' || attname from relation
        join pg_attribute on attrelid = oid and attnum > 0 and not attisdropped, unnest(array['select', 'insert', 'update', 'references']) as r (action)
        where has_column_privilege(${role}, oid, attnum, r.action) and not has_table_privilege(${role}, oid, r.action)
      union all select 'sequence ' || seqrelid::regclass from pg_sequence where has_sequence_privilege(${role}, seqrelid, 'usage, select, update')
      union all select 'execute ' || proname from pg_proc p join schema on schema.oid = pronamespace
        where has_function_privilege(${role}, p.oid, 'execute')
      order by 1`;
    return rows.map(({ may }) => may);
  };

  /** What the index of a table calls is called as the role that inserts. Nobody else can name it: that takes usage of the schema. */
  const INDEXED = 'execute search_key';

  test('everybody: what an index calls', async () => {
    expect(await rightsOf('public')).toEqual([INDEXED]);
  });

  test('the registrar: what registering takes', async () => {
    expect(await rightsOf(REGISTRAR)).toEqual(
      [
        'usage on schema purchase_watch',
        'insert purchases.purchase_id',
        'insert purchases.site',
        'insert purchases.reference',
        'insert purchases.metadata',
        'select registrations',
        'insert registrations.purchase_id',
        'insert registrations.site',
        'insert registrations.reference',
        'insert registrations.metadata',
        'execute watch',
        INDEXED,
      ].sort(),
    );
  });

  test('the reader: the views, and what they call', async () => {
    const called = ['deliveries_in_flight', 'parked_because', 'shown_status', 'state_name', 'stored_number', 'stored_text'].map(
      (name) => `execute ${name}`,
    );
    expect(await rightsOf(READER)).toEqual(
      ['usage on schema purchase_watch', INDEXED, ...called, ...Object.keys(VIEWS).map((view) => `select ${view}`)].sort(),
    );
  });

  test('what a later version adds is open to nobody but, if it is a view, to the reader', async () => {
    const other = await testDatabase();
    try {
      await other.sql`create function purchase_watch.shown(value integer) returns integer language sql as 'select value'`;
      await other.sql`create function purchase_watch.hidden() returns integer language sql as 'select 1'`;
      await other.sql`create view purchase_watch.later as select purchase_watch.shown(state) as state from purchase_watch.purchases`;
      expect(await other.sql`select purchase_watch.set_up_roles() as advice`).toEqual([{ advice: null }]);
      const [rights] = await other.sql`
        select has_function_privilege('public', 'purchase_watch.hidden()', 'execute') as everybody,
          has_function_privilege(${READER}, 'purchase_watch.hidden()', 'execute') as hidden,
          has_function_privilege(${READER}, 'purchase_watch.shown(integer)', 'execute') as shown,
          has_table_privilege(${READER}, 'purchase_watch.later', 'select') as later`;
      expect(rights).toEqual({ everybody: false, hidden: false, shown: true, later: true });
    } finally {
      await other.drop();
    }
  });
});

describe('a program that logs in as a member', () => {
  const PASSWORD = randomBytes(12).toString('hex');
  const members = new Map<string, { name: string; sql: Sql }>();
  beforeAll(async () => {
    for (const group of [REGISTRAR, READER]) {
      const name = `purchase_watch_test_${randomBytes(4).toString('hex')}`;
      await sql.unsafe(`create role ${name} login password '${PASSWORD}' in role ${group}`);
      const url = new URL(database.url);
      url.username = name;
      url.password = PASSWORD;
      members.set(group, { name, sql: connect(url.href, { max: 1 }) });
    }
  });
  afterAll(async () => {
    for (const { name, sql: own } of members.values()) {
      await own.end();
      await sql.unsafe(`drop role ${name}`);
    }
  });
  const as = (group: string) => members.get(group)!.sql;
  const DENIED = { code: '42501' };

  test('of the registrars registers with an id alone, again and again', async () => {
    for (let time = 0; time < 2; time++) {
      await as(REGISTRAR)`insert into purchase_watch.purchases (purchase_id) values ('p-1') on conflict do nothing`;
    }
    expect(await sql`select purchase_id, site, registered_by from purchase_watch.purchases`).toEqual([
      { purchaseId: 'p-1', site: 'default', registeredBy: `sql:${members.get(REGISTRAR)!.name}` },
    ]);
    expect(await sql`select count(*) from purchase_watch_internal.nudges`).toEqual([{ count: 1 }]);
  });

  test('of the registrars registers with all there is', async () => {
    const watch = () => as(REGISTRAR)<{ answer: string }[]>`
      select purchase_watch.watch('p-1', site => 'se', reference => 'ORD-1', metadata => '{"cart": 7.50}') as answer`;
    expect([await watch(), await watch()]).toEqual([[{ answer: 'created' }], [{ answer: 'existing' }]]);
    await sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null`;
    expect([await watch(), await watch()]).toEqual([[{ answer: 'watched again' }], [{ answer: 'existing' }]]);
    expect((await findPurchases(sql, { purchaseId: 'p-1', site: null }))[0]).toMatchObject({
      site: 'se',
      reference: 'ORD-1',
      metadata: '{"cart": 7.50}',
      status: 'watching',
    });
    expect(await sql`select registered_by from purchase_watch.purchases`).toEqual([
      { registeredBy: `sql:${members.get(REGISTRAR)!.name}` },
    ]);
  });

  /** What mappers of objects to rows send for one new registration, with the columns that docs/sql.md tells them to declare. */
  test.each([
    [
      'Drizzle',
      `insert into "purchase_watch"."registrations" ("purchase_id", "site", "reference", "metadata")
        values ('p-1', default, 'ORD-1', default) returning "purchase_id", "site", "reference", "metadata"`,
      { purchaseId: 'p-1', site: 'default', reference: 'ORD-1', metadata: null },
    ],
    [
      'Sequelize',
      `INSERT INTO "purchase_watch"."registrations" ("purchase_id","reference","metadata") VALUES ('p-1','ORD-1','{"cart":7}')
        RETURNING "purchase_id","site","reference","metadata"`,
      { purchaseId: 'p-1', site: 'default', reference: 'ORD-1', metadata: { cart: 7 } },
    ],
    [
      'TypeORM',
      `INSERT INTO "purchase_watch"."registrations"("purchase_id", "site", "reference", "metadata") VALUES ('p-1', DEFAULT, DEFAULT, DEFAULT)
        ON CONFLICT DO NOTHING RETURNING "registered_at"`,
      { registeredAt: expect.anything() },
    ],
    [
      'Django',
      `INSERT INTO "purchase_watch"."registrations" ("purchase_id", "site", "reference", "metadata") VALUES ('p-1', NULL, 'ORD-1', NULL)
        RETURNING "purchase_watch"."registrations"."id"`,
      { id: expect.anything() },
    ],
    [
      'SQLAlchemy',
      `INSERT INTO purchase_watch.registrations (purchase_id, reference) VALUES ('p-1', 'ORD-1') RETURNING purchase_watch.registrations.id`,
      { id: expect.anything() },
    ],
  ])('of the registrars gets the row back, as %s asks for it', async (_, statement, row) => {
    expect(await as(REGISTRAR).unsafe(statement)).toEqual([row]);
    expect(await sql`select purchase_id, registered_by, next_poll_at is not null as due from purchase_watch.purchases`).toEqual([
      { purchaseId: 'p-1', registeredBy: `sql:${members.get(REGISTRAR)!.name}`, due: true },
    ]);
    expect(await sql`select count(*) from purchase_watch_internal.nudges`).toEqual([{ count: 1 }]);
  });

  test('of the registrars gets no row back where another login registered the purchase before', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id, reference) values ('p-1', 'of another')`;
    const insert = "insert into purchase_watch.registrations (purchase_id, reference) values ('p-1', 'mine')";
    for (const target of ['', ' (site, purchase_id)']) {
      expect(await as(REGISTRAR).unsafe(`${insert} on conflict${target} do nothing returning *`)).toEqual([]);
    }
    await expect(as(REGISTRAR).unsafe(insert)).rejects.toMatchObject({ code: '23505' });
    expect(await sql`select reference from purchase_watch.purchases`).toEqual([{ reference: 'of another' }]);
  });

  test('of the registrars reads what it registered and nothing else, not with a function of its own in a condition', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id, reference, metadata) values ('p-1', 'of another', '{"name": "Kim"}')`;
    await as(REGISTRAR)`insert into purchase_watch.purchases (purchase_id, reference) values ('p-2', 'mine')`;
    await as(REGISTRAR)`select purchase_watch.watch('p-3')`;
    const notices: string[] = [];
    const url = Object.assign(new URL(database.url), { username: members.get(REGISTRAR)!.name, password: PASSWORD }).href;
    const own = connect(url, { max: 1, onNotice: ({ message }) => notices.push(message ?? '') });
    try {
      await own.unsafe(`create function pg_temp.look(seen text) returns boolean cost 0.0001 language plpgsql
        as 'begin raise notice ''%'', seen; return true; end'`);
      const seen =
        await own`select purchase_id, reference from purchase_watch.registrations where pg_temp.look(purchase_id) order by 1`;
      expect(seen).toEqual([
        { purchaseId: 'p-2', reference: 'mine' },
        { purchaseId: 'p-3', reference: null },
      ]);
      expect(notices.sort()).toEqual(['p-2', 'p-3']);
    } finally {
      await own.end();
    }
  });

  test('of the registrars registers in its own transaction, or not at all', async () => {
    const undo = new Error('undo');
    const insert = (tx: Queries, id: string) =>
      tx`insert into purchase_watch.registrations (purchase_id) values (${id}) returning id`;
    const run = as(REGISTRAR).begin(async (tx) => {
      expect(await insert(tx, 'p-1')).toHaveLength(1);
      throw undo;
    });
    await expect(run).rejects.toBe(undo);
    await as(REGISTRAR).begin((tx) => insert(tx, 'p-2'));
    expect(await sql`select purchase_id from purchase_watch.purchases`).toEqual([{ purchaseId: 'p-2' }]);
    expect(await sql`select count(*) from purchase_watch_internal.nudges`).toEqual([{ count: 1 }]);
  });

  test.each([
    'select * from purchase_watch.purchases',
    'select purchase_id from purchase_watch.purchases',
    'select * from purchase_watch.current_purchases',
    'select * from purchase_watch_internal.subscribers',
    "update purchase_watch.purchases set reference = 'x'",
    'delete from purchase_watch.purchases',
    'truncate purchase_watch.purchases cascade',
    "insert into purchase_watch.purchases (purchase_id, status) values ('x', 'settled')",
    "insert into purchase_watch.purchases (purchase_id, state) values ('x', 2)",
    "insert into purchase_watch.purchases (purchase_id, next_poll_at) values ('x', now())",
    "insert into purchase_watch.purchases (purchase_id, registered_by) values ('x', 'api')",
    "insert into purchase_watch.purchases (purchase_id) values ('x') returning id",
    "insert into purchase_watch.registrations (id, purchase_id) overriding system value values (1, 'x')",
    "insert into purchase_watch.registrations (purchase_id, registered_at) values ('x', now())",
    "insert into purchase_watch.registrations (purchase_id) values ('x') on conflict (site, purchase_id) do update set reference = 'y'",
    "update purchase_watch.registrations set reference = 'x'",
    'delete from purchase_watch.registrations',
    "insert into purchase_watch_internal.sites (name) values ('x')",
    "select purchase_watch_internal.watch_again(array['x'], array['se'])",
    'select purchase_watch_internal.default_site()',
    'select * from purchase_watch_internal.sites',
    'select * from purchase_watch_internal.nudges',
    'select purchase_watch.set_up_roles()',
    'create table purchase_watch.x ()',
  ])('of the registrars may not: %s', async (statement) => {
    await expect(as(REGISTRAR).unsafe(statement)).rejects.toMatchObject(DENIED);
  });

  test('of the readers reads every view', async () => {
    await sql`insert into purchase_watch.purchases (purchase_id) values ('p-1')`;
    await sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = now()`;
    await sql`insert into purchase_watch_internal.purchase_details select id, '{"Price": 1.50}' from purchase_watch.purchases`;
    for (const view of Object.keys(VIEWS)) await as(READER)`select * from ${as(READER)(`purchase_watch.${view}`)}`;
    expect(await as(READER)`select price, state_name from purchase_watch.stuck_purchases`).toEqual([
      { price: '1.50', stateName: 'WaitingForCardPayments' },
    ]);
  });

  test('of the readers sees no row that a view leaves out, not with a function of its own in a condition', async () => {
    const t = await testDatabase();
    const notices: string[] = [];
    const name = members.get(READER)!.name;
    const url = Object.assign(new URL(t.url), { username: name, password: PASSWORD }).href;
    const reader = connect(url, { max: 1, onNotice: ({ message }) => notices.push(message ?? '') });
    try {
      await syncSites(t.sql, ['default']);
      await t.sql`
        insert into purchase_watch_internal.events (id, type, site, shard, created_at, body)
        select 'evt_' || n, case n when 1 then 'site.reachable' else 'incident.opened' end, 'default', 0, now(), 'row ' || n from generate_series(1, 2) n`;
      await t.sql`
        insert into purchase_watch_internal.subscribers (name, kind, audience, address_hash, configured) values ('row 1', 'webhook', 'systems', 'x', true), ('row 2', 'webhook', 'systems', 'x', false)`;
      await t.sql`
        insert into purchase_watch_internal.incidents (id, kind, site, state, opened_at, since, count, peak, ended_at)
        values ('row 1', 'stuck', 'default', 6, now(), now(), 1, 1, null), ('row 2', 'stuck', 'default', 6, now(), now(), 1, 1, now())`;
      await t.sql`insert into purchase_watch.purchases (purchase_id) values ('row 1'), ('row 2')`;
      await t.sql`update purchase_watch.purchases set state = 6, state_since = now(), stuck_since = case purchase_id when 'row 1' then now() end`;
      await reader.unsafe(`create function pg_temp.look(seen text) returns boolean cost 0.0001 language plpgsql
        as 'begin raise notice ''%'', seen; return true; end'`);
      const columns = {
        event_log: 'body',
        subscriber_status: 'subscriber',
        open_incidents: 'incident_id',
        stuck_purchases: 'purchase_id',
      };
      for (const [view, column] of Object.entries(columns)) {
        notices.length = 0;
        await reader.unsafe(`select * from purchase_watch.${view} where pg_temp.look(${column})`);
        expect([view, notices]).toEqual([view, ['row 1']]);
      }
      const guarded = await t.sql`
        select relname as view from pg_class where relnamespace = 'purchase_watch'::regnamespace and 'security_barrier=true' = any(reloptions)`;
      // What these hide, somebody who reads them must not see. The others hide no row, because their conditions always hold, or
      // hide rows of outcomes that say nothing: of purchases that are watched again, and of none.
      const openly = ['current_purchases', 'transitions', 'stays', 'delivery_log', 'site_status', 'purchase_totals'];
      openly.push('outcomes', 'outcome_hours');
      expect([...guarded.map(({ view }) => view as string), ...openly].sort()).toEqual(Object.keys(VIEWS).sort());
    } finally {
      await reader.end();
      await t.drop();
    }
  });

  test.each([
    'select * from purchase_watch.purchases',
    'select * from purchase_watch_internal.subscribers',
    'select * from purchase_watch_internal.events',
    "insert into purchase_watch.purchases (purchase_id) values ('x')",
    "select purchase_watch.watch('x')",
    "select purchase_watch_internal.watch_again(array['x'], array['se'])",
    'select purchase_watch_internal.state_name(1)',
    "update purchase_watch.current_purchases set status = 'stopped'",
    "insert into purchase_watch.site_status (site, configured) values ('x', true)",
    'delete from purchase_watch.current_purchases',
    'create table purchase_watch.x ()',
  ])('of the readers may not: %s', async (statement) => {
    await expect(as(READER).unsafe(statement)).rejects.toMatchObject({ code: expect.stringMatching(/^42501$|^55000$/) });
  });
});

describe('a mistake is told with what to do', () => {
  const HUGE = `{"text": "${'x'.repeat(8_200)}"}`;
  test.each<[string, RegExp, RegExp, string]>([
    [`('p-1', null, null, '[7]')`, /^metadata is a JSON array; it must be an object$/, /\{"cart": 7\}/, '23514'],
    [`('p-1', null, null, 'null')`, /^metadata is a JSON null/, /leave the column out/, '23514'],
    [`('p-1', null, null, '${HUGE}')`, /^metadata has 8212 characters as text; at most 8192/, /their key/, '23514'],
    [`('p-1', null, '', null)`, /^reference is empty$/, /leave the column out/, '23514'],
    [`('p-1', null, '${'r'.repeat(201)}', null)`, /^reference has 201 characters; at most 200/, /order number/, '23514'],
    [
      `('p-1', 'SE ', null, null)`,
      /^site 'SE ' is not configured$/,
      /^Did you mean 'se'\? Configured sites: default, se\.$/,
      '23503',
    ],
    [`('p-1', 'def', null, null)`, /^site 'def' is not configured$/, /^Did you mean 'default'\?/, '23503'],
    [`('p-1', 'xx', null, null)`, /^site 'xx' is not configured$/, /^Configured sites: default, se\.$/, '23503'],
  ])('%s', async (values, message, hint, code) => {
    const expected = { message: expect.stringMatching(message), hint: expect.stringMatching(hint), code };
    await expect(
      sql.unsafe(`insert into purchase_watch.purchases (purchase_id, site, reference, metadata) values ${values}`),
    ).rejects.toMatchObject(expected);
    await expect(sql.unsafe(`select purchase_watch.watch${values}`)).rejects.toMatchObject(expected);
  });
});

describe('roles, which belong to a whole cluster', () => {
  test('are made by whichever database comes first, and asked for where the role may not make them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
    const server = await startEmbedded({ dataDir: join(folder, 'data'), settings: { fsync: 'off' } });
    const superuser = server.superuserUrl;
    const admin = connect(superuser, { max: 1 });
    const on = async <T>(name: string, user: string | null, work: (own: Sql) => Promise<T>): Promise<T> => {
      const url = new URL(superuser);
      url.pathname = `/${name}`;
      if (user !== null) {
        url.username = user;
        url.password = 'secret';
      }
      const own = connect(url.href, { max: 3 });
      try {
        return await work(own);
      } finally {
        await own.end();
      }
    };
    try {
      // Made with the cluster, so that the daemon needs no right to make roles.
      for (const role of [REGISTRAR, READER]) await admin`drop role ${admin(role)}`;
      await admin`create role plain login password 'secret'`;
      await admin`create database plain owner plain`;
      const migrated = await on('plain', 'plain', (own) => migrate(own, MIGRATIONS));
      expect(migrated.applied.length).toBeGreaterThan(0);
      expect(migrated.advice).toBe(
        `An administrator has to make the roles first: create role ${REGISTRAR} nologin; create role ${READER} nologin; then call purchase_watch.set_up_roles() again.`,
      );
      const everybody = await on(
        'plain',
        null,
        (own) => own`select has_function_privilege('public', 'purchase_watch.watch(text, text, text, jsonb)', 'execute') as may`,
      );
      expect(everybody).toEqual([{ may: false }]);

      const names = ['a', 'b', 'c'];
      for (const name of names) await admin`create database ${admin(name)}`;
      const results = await Promise.all(names.map((name) => on(name, null, (own) => migrate(own, MIGRATIONS))));
      expect(results.map(({ advice }) => advice)).toEqual([undefined, undefined, undefined]);
      for (const name of names) {
        const [rights] = await on(
          name,
          null,
          (own) => own`select has_table_privilege(${READER}, 'purchase_watch.current_purchases', 'select') as may`,
        );
        expect(rights).toEqual({ may: true });
      }

      const call = (own: Sql) => own`select purchase_watch.set_up_roles() as advice`;
      expect(await on('plain', 'plain', call)).toEqual([{ advice: null }]);
      await admin`create role stranger login password 'secret'`;
      await on('plain', null, (own) => own`grant usage on schema purchase_watch to stranger`);
      await on('plain', null, (own) => own`grant execute on function purchase_watch.set_up_roles to stranger`);
      await expect(on('plain', 'stranger', call)).rejects.toMatchObject({ code: '42501', hint: 'Call it as plain.' });
    } finally {
      await admin.end();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
    // A cluster of its own, and four migrations of it.
  });
});

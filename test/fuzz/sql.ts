/** Hostile statements of the two logins that merchants' programs have: registering, metadata, notifications, views. */
import fc from 'fast-check';
import type { Sql } from '../../src/postgres/connection/database.ts';
import { oddText } from '../api/generate.ts';
import { brief, edited, edits, hostileJson, sample, seedOf } from './hostile.ts';
import { WILD_SITES, type World } from './world.ts';

interface Statement {
  readonly text: string;
  readonly values: readonly (string | number | null)[];
}

const text = fc.oneof(oddText, fc.constantFrom('x'.repeat(200), 'x'.repeat(201), 'y'.repeat(100_000), 'ö'.repeat(200)));
const orNull = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(some, { freq: 3 });
const id = fc.oneof({ weight: 3, arbitrary: text }, { weight: 2, arbitrary: fc.uuid() });
const site = fc.oneof({ weight: 4, arbitrary: fc.constantFrom<string[]>(...WILD_SITES) }, { weight: 1, arbitrary: text });
const metadata = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(oddText, hostileJson).map(([name, value]) => `{${JSON.stringify(name)}:${value}}`) },
  { weight: 1, arbitrary: hostileJson },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      `${'{"a":'.repeat(4_000)}1${'}'.repeat(4_000)}`,
      `{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`,
      `{"a":1e1000000}`,
      `{"n":${'1'.repeat(8_000)}}`,
    ),
  },
);

const CHANNELS = ['purchase_watch_wake', 'purchase_watch_events', 'purchase_watch', ''];
const payload = fc.oneof(
  fc.constantFrom(
    'purchases',
    'deliveries',
    'replays',
    'subscribers',
    'judge',
    'shards',
    'forgotten',
    'forgotten -1',
    'forgotten 99999999999999999999',
    'forgotten 1\nforgotten 2',
    'x'.repeat(7_999),
    '__proto__',
    'constructor',
    'toString',
  ),
  fc.nat(100_000).map((row) => `forgotten ${row}`),
  text,
);

/** What a login with the right to register tries beside registering. */
const ATTEMPTS = [
  'select * from purchase_watch.purchases',
  'select * from purchase_watch_internal.subscribers',
  'update purchase_watch.purchases set status = $$settled$$',
  'delete from purchase_watch_internal.events',
  'truncate purchase_watch.purchases cascade',
  'lock table purchase_watch.purchases in row exclusive mode nowait',
  'create temp table purchases (purchase_id text)',
  'set search_path = pg_temp, purchase_watch; insert into purchase_watch.purchases (purchase_id) values (gen_random_uuid()::text) on conflict do nothing',
  'set role purchase_watch_reader; reset role',
  'begin; insert into purchase_watch.purchases (purchase_id) values (gen_random_uuid()::text); rollback',
  'select purchase_watch.watch(null)',
  "select purchase_watch.watch('x', metadata => 'null')",
  "select set_config('purchase_watch.whatever', 'x', false)",
  'select pg_try_advisory_xact_lock(1)',
  'copy purchase_watch.purchases (purchase_id) to stdout',
  "do $$ begin for i in 1..20 loop perform pg_notify('purchase_watch_wake', 'purchases'); end loop; end $$",
];

const registering: fc.Arbitrary<Statement> = fc.oneof(
  fc.tuple(id, orNull(site), orNull(text), orNull(metadata)).map((values) => ({
    text: 'insert into purchase_watch.purchases (purchase_id, site, reference, metadata) values ($1, $2, $3, $4::text::jsonb) on conflict do nothing',
    values,
  })),
  fc.tuple(id, orNull(site), orNull(text), orNull(metadata)).map((values) => ({
    text: 'select purchase_watch.watch($1, site => $2, reference => $3, metadata => $4::text::jsonb)',
    values,
  })),
  fc.tuple(fc.constantFrom(...CHANNELS), payload).map((values) => ({ text: 'select pg_notify($1, $2)', values })),
  fc.constantFrom(...ATTEMPTS).map((each) => ({ text: each, values: [] })),
  fc
    .tuple(fc.constantFrom(...ATTEMPTS, "insert into purchase_watch.purchases (purchase_id, metadata) values ('x', '{}')"), edits)
    .map(([each, damage]) => ({
      text: edited(each, damage).replaceAll('\0', '?'),
      values: [],
    })),
);

const VIEWS = [
  'current_purchases',
  'stuck_purchases',
  'transitions',
  'event_log',
  'delivery_log',
  'open_incidents',
  'site_status',
  'purchase_totals',
  'subscriber_status',
];
const reading: fc.Arbitrary<Statement> = fc.oneof(
  fc
    .tuple(fc.constantFrom('purchase_id', 'site', 'purchase_id || site'), fc.constantFrom(...VIEWS.slice(0, 5)), text)
    .map(([column, view, value]) => ({
      text: `select * from purchase_watch.${view} where ${column.replace('purchase_id || site', 'site')} = $1 limit 200`,
      values: [value],
    })),
  fc.constantFrom(...ATTEMPTS).map((each) => ({ text: each, values: [] })),
);

/** Classes of errors that a statement may earn: data, constraints, syntax, rights, limits, what is not there. */
const EARNED = /^(?:0A|21|22|23|25|26|28|2B|34|3B|3D|3F|40|42|54|55|57014|P0)/;
/** The driver's, for what no statement can carry. */
const UNSENT = /invalid byte sequence|UNDEFINED_VALUE|NUL|null character|MAX_PARAMETERS|COPY_IN_PROGRESS/i;

export interface SqlDoor {
  attack(seed: number, count: number): Promise<void>;
  /** Reads every column of every row of every view. */
  readAll(): Promise<void>;
}

/** Opens the door. `found` is told of each error that no statement may cause. */
export async function openSql({ registrar, reader }: World, found: (fault: string) => void): Promise<SqlDoor> {
  const run = async (sql: Sql, { text: statement, values }: Statement): Promise<void> => {
    try {
      await sql.unsafe(statement, [...values]);
    } catch (error) {
      const { code = '', message } = error as Error & { code?: string };
      if (EARNED.test(code) || UNSENT.test(`${code} ${message}`)) return;
      found(`SQL: ${brief(statement)} ${brief(JSON.stringify(values))}\n  ${code} ${message}`);
    } finally {
      // What the statement left of a transaction or of settings is not for the next one.
      await sql.unsafe('rollback; reset all; reset role');
    }
  };
  const inTurn = async (sql: Sql, statements: readonly Statement[]): Promise<void> => {
    for (const statement of statements) await run(sql, statement);
  };
  return {
    attack: async (seed, count) => {
      const reads = Math.floor(count / 4);
      await Promise.all([
        inTurn(registrar, sample(registering, count - reads, seedOf(seed, 'registrar'))),
        inTurn(reader, sample(reading, reads, seedOf(seed, 'reader'))),
      ]);
    },
    readAll: async () => {
      for (const view of VIEWS) {
        await reader
          .unsafe(`select count(each::text) from purchase_watch.${view} as each`)
          .catch((error: Error) => found(`SQL: the view ${view} cannot be read\n  ${error.message}`));
      }
    },
  };
}

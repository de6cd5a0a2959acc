/** An upgrade: the database is as an older version left it, with its rows, when a daemon of this one starts. */
import { readFolder } from '../../../src/postgres/migrations/files.ts';
import { MIGRATIONS } from '../../../src/work.ts';
import type { World } from '../world.ts';

const FILES = readFolder(MIGRATIONS);
/** The newest file of the first release; those after it only add (docs/decisions/0026-schemas-and-migrations.md). */
const FIRST_RELEASE = 9;

/** Numbers of the files with which a database may be: each but the newest. */
export const OLDER_SCHEMAS: readonly number[] = FILES.map(({ number }) => number).filter(
  (number) => number >= FIRST_RELEASE && number < FILES.length,
);

/** Those that a world may have: an index that is built beside writers needs two sessions, and the engine of worlds has one. */
export const SCHEMAS_OF_WORLDS = OLDER_SCHEMAS.filter(
  (number) => !FILES.some((file) => file.number > number && /\bindex concurrently\b/i.test(file.text)),
);

const MADE =
  /^(?:create (?<kind>table|function|type|view|index)(?: concurrently)? (?<name>[\w.]+)(?: on (?<on>\w+)\.)?|alter table (?<table>[\w.]+)\s+add column (?<column>\w+))/gim;

/** Statements that take away what the files after this number made, last first. */
export function undoing(number: number): string {
  const later = FILES.filter((file) => file.number > number).reverse();
  const drops = later.flatMap(({ text }) =>
    [...text.matchAll(MADE)].reverse().map(({ groups }) => {
      const { kind, name, on, table, column } = groups!;
      if (table !== undefined) return `alter table ${table} drop column if exists ${column} cascade`;
      return `drop ${kind} if exists ${on === undefined ? name : `${on}.${name}`} cascade`;
    }),
  );
  return [...drops, `delete from purchase_watch_internal.migrations where number > ${number}`].join('; ');
}

/** Daemons of the older version do nothing while the new one starts: a daemon of this version cannot work for an older one. */
export function upgrade(world: World, { daemon, from, lasts }: { daemon: number; from: number; lasts: number }): void {
  const { daemons } = world;
  daemons.kill(daemon);
  daemons.freezeAll(lasts);
  const own = `update purchase_watch_internal.replicas set settings_digests = jsonb_set(settings_digests, '{schema}', '"${from}"')`;
  world.sql(`${undoing(from)}; ${own}`, (answer) => {
    if (answer.includes('ERROR') && !answer.includes('read-only'))
      world.problems.push(`no older schema: ${answer.toString('latin1')}`);
    daemons.start(daemon);
  });
}

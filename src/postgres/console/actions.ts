/** The changes that people and programs made with the rights of an operator. */
import type { Instant } from '../../domain/values/time.ts';
import type { Queries } from '../connection/database.ts';

/** By which door a change came. */
export const DOORS = ['api', 'console', 'cli'] as const;
export type Door = (typeof DOORS)[number];

export interface NewAction {
  /** The name of the key; null without one. */
  readonly key: string | null;
  /** The name that the person of a session said; null: none, for programs and commands. */
  readonly person: string | null;
  /** From where: an address of the network, or of a command the account and the machine. */
  readonly address: string;
  readonly via: Door;
  /** A call of the API, a command, or signing in and out. */
  readonly call: string;
  /** Ids and counts, nothing that a person wrote freely. */
  readonly subject: Readonly<Record<string, string | number>>;
  readonly outcome: 'done' | 'failed';
}

export interface ActionRow extends NewAction {
  readonly id: number;
  readonly at: Instant;
}

/** All of those that are given; null: any. */
export interface ActionFilter {
  readonly key: string | null;
  readonly via: Door | null;
  /** The id of what it was about. */
  readonly about: string | null;
}

export async function recordAction(
  sql: Queries,
  { key, person, address, via, call, subject, outcome }: NewAction,
): Promise<void> {
  await sql`
    insert into purchase_watch_internal.actions (key_name, person, address, via, call, subject, outcome)
    values (${key}, ${person}, ${address}, ${via}, ${call}, ${JSON.stringify(subject)}::text::jsonb, ${outcome})`;
}

/** A page, the latest first. */
export function listActions(
  sql: Queries,
  { key, via, about }: ActionFilter,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<ActionRow[]> {
  const any = sql`true`;
  return sql<ActionRow[]>`
    select a.id, at, key_name as key, person, address, via, call, subject, outcome
    from purchase_watch_internal.actions a
    where ${before === null ? any : sql`a.id < ${before}`} and ${key === null ? any : sql`key_name = ${key}`}
      and ${via === null ? any : sql`via = ${via}`} and ${about === null ? any : sql`subject ->> 'id' = ${about}::text`}
    order by a.id desc limit ${limit}`;
}

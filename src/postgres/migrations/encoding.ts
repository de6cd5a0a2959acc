/** The encoding of the database: only UTF8 holds every name that a customer may have. */

import { AppError } from '../../domain/values/errors.ts';
import type { Queries } from '../connection/database.ts';

/** A database that cannot hold every character, and the statement that makes one that can; null for UTF8. */
export function wrongEncoding({ encoding, database }: { encoding: string; database: string }) {
  if (encoding === 'UTF8') return null;
  const found = `database ${database} has encoding ${encoding}, in which names of customers and amounts cannot be kept as the service sends them`;
  const name = `"${database.replaceAll('"', '""')}_utf8"`;
  const todo = `make one with encoding UTF8 (in psql: create database ${name} encoding 'UTF8' locale 'C' template template0), and let DATABASE_URL name it`;
  return { found, todo };
}

/** Throws AppError `configuration` for a database of another encoding than UTF8. */
export async function refuseEncoding(sql: Queries): Promise<void> {
  const [row] = await sql<[{ encoding: string; database: string }]>`
    select pg_encoding_to_char(encoding) as encoding, datname as database from pg_database where datname = current_database()`;
  const wrong = wrongEncoding(row);
  if (wrong !== null) throw new AppError('configuration', `${wrong.found}: ${wrong.todo}`);
}

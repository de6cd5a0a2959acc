/** Names of sites as people give them to commands. */

import type { Sql } from '../../actions/database.ts';
import { siteProblem } from '../../actions/sites/site-problem.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { AppError } from '../../domain/values/errors.ts';

/** The name, checked. `unnamed`: sites that no running daemon has in its settings. Throws AppError `invalid`. */
export function knownSite(name: string, known: readonly string[], unnamed: readonly string[] = []): string {
  const problem = siteProblem(name, known, unnamed);
  if (problem !== null) throw new AppError('invalid', `--site: ${problem}`);
  return name;
}

/** Throws AppError `invalid` for a name that no site of the database has. */
export async function requireSite(sql: Sql, name: string | undefined): Promise<void> {
  if (name === undefined) return;
  const sites = await listSites(sql);
  knownSite(
    name,
    sites.map((each) => each.name),
  );
}

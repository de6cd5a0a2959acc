/** Names of sites as people give them to commands. */
import { siteProblem } from '../../api/registrations/site-problem.ts';
import { AppError } from '../../domain/values/errors.ts';

/** The name, checked; throws AppError `invalid`. */
export function knownSite(name: string, known: readonly string[]): string {
  const problem = siteProblem(name, known);
  if (problem !== null) throw new AppError('invalid', `--site: ${problem}`);
  return name;
}

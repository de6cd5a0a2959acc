/** Names of sites as people give them. */
import { suggestion } from '../../config/kinds/nearest.ts';

/** Why this is none of these sites, with the nearest name, or null. */
export function siteProblem(name: string, known: readonly string[]): string | null {
  if (known.includes(name)) return null;
  if (known.length === 0) return 'there are no sites yet: start the daemon once with your settings';
  return `${JSON.stringify(name)} is not a site${suggestion(name, known)}; there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
}

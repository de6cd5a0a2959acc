/** Names of sites as people give them. */
import { suggestion } from '../../config/kinds/nearest.ts';

/** Why this is none of these sites, with the nearest name, or null. `unnamed`: sites that no running daemon has in its settings. */
export function siteProblem(name: string, known: readonly string[], unnamed: readonly string[] = []): string | null {
  if (known.includes(name)) return null;
  const there = `there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
  if (unnamed.includes(name)) {
    const others = known.length === 0 ? '' : ` (${there})`;
    return `no running daemon has site ${JSON.stringify(name)} in its settings${others}; if it has another name now, add "formerly: [${name}]" to that site and restart the daemons`;
  }
  if (known.length === 0) return 'there are no sites yet: start the daemon once with your settings';
  return `${JSON.stringify(name)} is not a site${suggestion(name, known)}; ${there}`;
}

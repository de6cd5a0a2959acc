/** Who sends a request, as far as keys show. */
import type { Scope } from '../../config/kinds/key-kinds.ts';
import type { Instant } from '../../domain/values/time.ts';

export interface Caller {
  /** The name of the key; null where no keys are configured. */
  readonly key: string | null;
  readonly scopes: readonly Scope[];
  /** When the key expires; null: never. */
  readonly expires: Instant | null;
  /** The name that the person said at the sign-in to the console; null or absent: none. */
  readonly name?: string | null;
  /** The session of the console that calls; absent for programs. */
  readonly session?: number;
}

/** Who acts, for forms: the person, or the key where the person said no name; empty where there is neither. */
export function actorOf({ name, key }: Caller): string {
  return name ?? key ?? '';
}

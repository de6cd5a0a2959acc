/** Records what a command changed, beside what API and console change. */

import { hostname, userInfo } from 'node:os';
import type { Queries } from '../../actions/database.ts';
import { recordAction } from '../../actions/recorded.ts';

/** Records that a command did its work. `call` is the command without its arguments, `subject` the ids that it was about. */
export async function recordCommand(
  sql: Queries,
  call: string,
  subject: Readonly<Record<string, string | number>>,
): Promise<void> {
  const address = `${accountName()}@${hostname()}`;
  await recordAction(sql, { key: null, person: null, address, via: 'cli', call, subject, outcome: 'done' });
}

/** The account of the person who runs the command. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the number of the user often has no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}

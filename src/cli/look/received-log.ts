/** Reads a receiver's own log of the events that arrived. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LoggedEvent } from '../../actions/audit.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from '../terminal/context.ts';

const NOTHING: LoggedEvent = { site: null, purchaseId: null };
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The ids of a log: one in each line, or lines of JSON with `id`, as `listen --json` writes them. Throws AppError `invalid`. */
export async function readLog({ stdin }: CliContext, file: string): Promise<Map<string, LoggedEvent>> {
  const log = new Map<string, LoggedEvent>();
  const lines = createInterface({ input: file === '-' ? stdin : createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  let number = 0;
  try {
    for await (const line of lines) {
      number += 1;
      const text = line.trim();
      if (text !== '') addLine(log, text, number);
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('invalid', `--sent: cannot read ${file}: ${(cause as { code?: string }).code ?? cause}`, { cause });
  }
  if (log.size === 0)
    throw new AppError('invalid', `--sent: ${file} holds no id; it needs the webhook-id of each event that arrived`);
  return log;
}

function addLine(log: Map<string, LoggedEvent>, text: string, number: number): void {
  if (!text.startsWith('{')) {
    if (/\s/.test(text)) throw new AppError('invalid', `--sent: line ${number} is neither an id alone nor JSON`);
    return void log.set(text, NOTHING);
  }
  const { id, type, data } = parsed(text, number);
  if (!isText(id)) throw new AppError('invalid', `--sent: line ${number} has no "id"`);
  // A test says nothing of purchases, and doctor's are in no database.
  if (type === 'subscriber.test') return;
  const { site, purchaseId } = (data ?? {}) as { site?: unknown; purchaseId?: unknown };
  log.set(id, { site: isText(site) ? site : null, purchaseId: isText(purchaseId) ? purchaseId : null });
}

function parsed(text: string, number: number): { id?: unknown; type?: unknown; data?: unknown } {
  try {
    return JSON.parse(text) as { id?: unknown };
  } catch (cause) {
    throw new AppError('invalid', `--sent: line ${number} is not JSON`, { cause });
  }
}

/** One call to the service and what it is answered with. */
import type { Operation } from '../contract/names.ts';

export interface Call {
  readonly operation: Operation;
  /** The purchase it asks about; null when it asks about none. */
  readonly purchaseId: string | null;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error as the operations answer it. */
export function errorAnswer(
  status: number,
  code: string | number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, body: JSON.stringify([{ ErrorCode: code, ErrorMessage: message }]), headers };
}

/** An error as the token endpoint answers it (RFC 6749, section 5.2). */
export function tokenErrorAnswer(status: number, error: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: JSON.stringify({ error }), headers };
}

/** Refusals of requests by the present state of the database or the settings, with a code that programs can rely on. */
import { AppError, type ErrorCode } from '../../domain/values/errors.ts';

const KINDS = {
  purchase_not_found: 'not_found',
  subscriber_not_found: 'not_found',
  subscriber_exists: 'conflict',
  subscriber_configured: 'conflict',
  subscriber_off: 'conflict',
  delivery_not_found: 'not_found',
  incident_not_found: 'not_found',
  incident_ended: 'conflict',
  silence_not_found: 'not_found',
  mark_not_found: 'not_found',
  session_not_found: 'not_found',
  secrets_key_missing: 'conflict',
  secrets_key_wrong: 'conflict',
  too_many_secrets: 'conflict',
  headers_not_given: 'conflict',
} as const satisfies Record<string, ErrorCode>;

export class Refused extends AppError {
  readonly reason: keyof typeof KINDS;

  constructor(reason: keyof typeof KINDS, message: string) {
    super(KINDS[reason], message);
    this.name = 'Refused';
    this.reason = reason;
  }
}

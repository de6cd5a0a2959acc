/** Failures of options and controls. */

/** Stable codes of failures. */
export type SimulatorErrorCode =
  | 'invalid_request'
  | 'unknown_site'
  | 'purchase_not_found'
  | 'purchase_exists'
  | 'purchase_ended'
  | 'shared_listener'
  | 'too_many_namespaces';

/** An option or a control that cannot be used as given. The message names the field, the value and what to do. */
export class SimulatorError extends Error {
  readonly code: SimulatorErrorCode;
  /** The problem and what to do, without the field. */
  readonly detail: string;
  /** The field at fault; absent where no single field is. */
  readonly field: string | undefined;
  /** The value of the field as it was given. */
  readonly value: unknown;

  /** `detail` goes on after the name of the field, as in `is not a price; write it like 249.50`. */
  constructor(code: SimulatorErrorCode, detail: string, { field, value }: { field?: string; value?: unknown } = {}) {
    super(field === undefined ? detail : `${field}: ${value === undefined ? '' : `${JSON.stringify(value)} `}${detail}`);
    this.name = 'SimulatorError';
    this.code = code;
    this.detail = detail;
    this.field = field;
    this.value = value;
  }
}

/** The path of a field as errors name the field: `sites[0].code`. */
export function pathName(path: readonly PropertyKey[]): string {
  return path.map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at === 0 ? '' : '.'}${String(part)}`)).join('');
}

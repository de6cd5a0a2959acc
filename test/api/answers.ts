/** Whether an answer of the API is one that the OpenAPI document names for its operation. */
import type { Operation } from '../../tools/book/api/model.ts';
import type { schemaChecker } from './schema-checker.ts';

export interface ApiAnswer {
  readonly status: number;
  /** Without parameters. */
  readonly type: string;
  /** Empty for a stream. */
  readonly text: string;
}

/** What is wrong with the answer; null when nothing is. */
export function faultOfAnswer(operation: Operation, answer: ApiAnswer, check: ReturnType<typeof schemaChecker>): string | null {
  const { status, type, text } = answer;
  const documented = operation.responses[String(status)];
  const wrong = (what: string): string => `${status} ${type}: ${what}; the answer was ${text.slice(0, 500)}`;

  if (status >= 500 && !mayFail(operation, status, text)) return wrong('a fault of ours');
  if (documented === undefined) return wrong('the status is not documented');
  const content = documented.content ?? {};
  if (Object.keys(content).length === 0) return text === '' ? null : wrong('there is a body where none is documented');
  if (content[type] === undefined) return wrong(`the type is not documented, ${Object.keys(content)} is`);
  if (!/json$/.test(type)) return null;
  const value: unknown = JSON.parse(text);
  const fault = check(content[type].schema ?? {}, value);
  if (fault !== null) return wrong(`the body is not as documented: ${fault}`);
  const codes = /^Problem: (.*)$/.exec(documented.description)?.[1]?.split(', ');
  const { code, status: said } = value as { code?: string; status?: number };
  if (codes !== undefined && (!codes.includes(code ?? '') || said !== status))
    return wrong('the code is not documented for this status');
  return null;
}

/** The checkout service's failures are told as ours to mend only where an operation says so, by a code of their own. */
function mayFail(operation: Operation, status: number, text: string): boolean {
  const { code, status: said } = JSON.parse(text) as { code?: string; status?: unknown };
  // Readiness gives the database a second, which may be too little on a machine at its limit; in the end it has to be ready.
  if (said === 'not ready') return true;
  return (
    code !== undefined &&
    !['internal', 'unavailable'].includes(code) &&
    (operation.responses[String(status)]?.description.includes(code) ?? false)
  );
}

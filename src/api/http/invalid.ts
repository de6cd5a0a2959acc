/** Failed checks as problems for the caller: which field, which value, what to do. */
import { z } from '@hono/zod-openapi';
import { suggestion } from '../../config/kinds/nearest.ts';
import { isDecimal } from '../../domain/values/exact-json.ts';
import { type FieldError, Problem, type ProblemCode } from './problems.ts';

/** Handed along with an issue by the checks in fields.ts. */
export interface IssueNote {
  /** A code of its own, instead of `invalid_request`. */
  readonly code?: ProblemCode;
  /** The value is the caller's private matter. */
  readonly hideValue?: boolean;
}

const LONGEST_VALUE = 80;
const MOST_ERRORS = 20;

/** An object with these fields and no others; a name that is unknown gets the nearest known one. */
export function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return 'must be an object';
      const keys = (issue.keys as string[]).slice(0, MOST_ERRORS);
      return keys.map((key) => unknownName(key, known)).join('\n');
    },
  }) as z.ZodObject<Shape, z.core.$strict>;
}

function unknownName(key: string, known: readonly string[]): string {
  const given = shortened(key);
  const rest = known.length === 0 ? 'none is accepted here' : `known: ${known.join(', ')}`;
  return `${JSON.stringify(given)} is not known here${suggestion(key, known)}; ${rest}`;
}

/** The fields that fail the checks of `input`, the first of them (a body may fail thousands), and the code that says it best. */
export function faultsOf(error: z.core.$ZodError, input: unknown): { code: ProblemCode; errors: readonly FieldError[] } {
  const codes = new Set(error.issues.map((issue) => noteOf(issue).code ?? 'invalid_request'));
  const [only = 'invalid_request'] = codes;
  const first = error.issues.slice(0, MOST_ERRORS);
  const errors = first.flatMap((issue) => fieldErrors(issue, input)).slice(0, MOST_ERRORS);
  return { code: codes.size === 1 ? only : 'invalid_request', errors };
}

/** One sentence for all that is wrong. */
export function inOneSentence(errors: readonly FieldError[]): string {
  return errors.map(({ field, detail }) => `${field}: ${detail}`).join('; ');
}

/** The problem that failed checks of a request are. */
export function invalid(error: z.core.$ZodError, input: unknown): Problem {
  const { code, errors } = faultsOf(error, input);
  return new Problem(code, `${inOneSentence(errors)}.`, { errors });
}

function fieldErrors(issue: z.core.$ZodIssue, input: unknown): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    const details = issue.message.split('\n');
    return issue.keys
      .slice(0, details.length)
      .map((key, index) => ({ field: pathName([...issue.path, shortened(key)]), detail: details[index]! }));
  }
  const hidden = noteOf(issue).hideValue || issue.path.some((part) => SECRET.has(part));
  const value = hidden ? undefined : shown(valueAt(input, issue.path));
  return [{ field: pathName(issue.path), ...(value === undefined ? {} : { value }), detail: issue.message }];
}

/** Whatever is wrong with what stands at these names or below, it may give access to something. */
const SECRET: ReadonlySet<PropertyKey> = new Set(['headers', 'secret']);

function noteOf(issue: z.core.$ZodIssue): IssueNote {
  return issue.code === 'custom' ? (issue.params ?? {}) : {};
}

function pathName(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`))
    .join('');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    input,
  );
}

/** Single values as they are; of lists and objects nothing. */
function shown(value: unknown): FieldError['value'] | undefined {
  if (typeof value === 'string') return shortened(value);
  if (isDecimal(value)) return shortened(value.rawJSON);
  return value === null || typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

function shortened(text: string): string {
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE).toWellFormed()}…`;
}

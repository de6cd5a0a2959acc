/**
 * One line per thing that happened: JSON for machines, short lines on a terminal. `event` is a name of the table in
 * log-events.ts, everything else a field: `log.info({ site, purchaseId, sequence, from, to }, 'purchase.state_changed')`.
 */
import { hostname } from 'node:os';
import { styleText } from 'node:util';
import { type Logger as Pino, pino } from 'pino';
import type { LogEventAt, LogFields, LogLevel } from './log-events.ts';

export interface LoggerOptions {
  readonly level: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Standard output by default. When it is a terminal, lines are for people. */
  readonly destination?: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Fields that hold secrets, however they are spelled and however deep they lie. */
const SECRET_FIELD =
  /authorization|cookie|token|secret|password|passwd|credential|api[-_]?(?:read[-_]?)?key|^headers$|database[-_]?url/i;
/** Fields of the service's answer that are a person's, and what a merchant attached. */
const PERSONAL_FIELD =
  /^(?:Invoicing|Delivery|B2B|OrganizationNumber|CompanyName|ReferenceName|Phone$|Mail$|MaskedCard|CardExpiration|AccountNumber|Attachment|Description$|metadata$|details$|body$)/;
const HIDDEN = '[hidden]';
const DEEPEST = 8;

/** Numbers and flags pass: a count of tokens is no token. */
function hides(key: string, value: unknown): boolean {
  const bare = value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean';
  return !bare && (SECRET_FIELD.test(key) || PERSONAL_FIELD.test(key));
}

function safe(value: unknown, depth = 0): unknown {
  if (value instanceof Error) return errorFields(value, depth);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth > DEEPEST) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => safe(item, depth + 1));
  return fields(value, depth);
}

function fields(object: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, hides(key, value) ? HIDDEN : safe(value, depth + 1)]),
  );
}

/** Where Postgres quotes the row that it refused, and the driver the statement and its parameters. */
const QUOTING = new Set(['detail', 'where', 'query', 'parameters', 'args']);

/** The fields that help to find a failure: its own (code, status), where it happened, and its causes. */
function errorFields(error: Error, depth: number): Record<string, unknown> {
  if (depth > DEEPEST) return { message: error.message };
  const { name, message, stack, cause } = error;
  const inner = error instanceof AggregateError ? { errors: error.errors.map((each) => safe(each, depth + 1)) } : {};
  const quotes = (key: string): boolean => name === 'PostgresError' && QUOTING.has(key);
  const own = fields(Object.fromEntries(Object.entries(error).filter(([key]) => !quotes(key))), depth);
  return { ...own, ...inner, name, message, stack, ...(cause === undefined ? {} : { cause: safe(cause, depth + 1) }) };
}

/** Secrets inside texts, as libraries put them into messages: addresses with credentials or a signature, tokens, signing secrets. */
function scrubbed(line: string): string {
  return line
    .replace(/:\/\/[^\s"'\\<>]*@/g, '://…@')
    .replace(/\b(Bearer|Basic) [A-Za-z0-9._~+/-]+=*/g, '$1 …')
    .replace(/whsec_[A-Za-z0-9+/]+=*/g, 'whsec_…')
    .replace(/pwk_[A-Za-z0-9_-]+/g, 'pwk_…')
    .replace(/(hooks\.slack\.com\/)[^\s"'\\<>]+/g, '$1…')
    .replace(/\b((?:client_secret|access_token|password|sig)=)[^\s&"'\\]+/gi, '$1…');
}

const COLOURS = { trace: 'gray', debug: 'gray', info: 'green', warn: 'yellow', error: 'red', fatal: 'red' } as const;

/** Texts come from outside; on a terminal their control characters would be obeyed. */
function inWords(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return (JSON.stringify(value) ?? 'undefined').replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}

interface Line {
  readonly time: string;
  readonly level: keyof typeof COLOURS;
  readonly event?: string;
  readonly [field: string]: unknown;
}

interface ErrorFields {
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

function messages({ message, cause }: ErrorFields): string[] {
  return [message ?? '', ...(cause?.message === undefined ? [] : messages(cause))];
}

function forPeople(text: string, stream: NodeJS.WritableStream): string {
  // A terminal shows one process.
  const { time, level, event = '', host: _host, replica: _replica, ...rest } = JSON.parse(text) as Line;
  const paint = (format: Parameters<typeof styleText>[0], part: string) => styleText(format, part, { stream });
  const stacks: string[] = [];
  const words = Object.entries(rest).map(([key, value]) => {
    const error = (typeof value === 'object' && value !== null ? value : {}) as ErrorFields;
    if (error.stack === undefined) return `${paint('gray', `${key}=`)}${inWords(value)}`;
    stacks.push(...error.stack.split('\n').slice(1));
    return `${paint('gray', `${key}=`)}${inWords(messages(error).join(': '))}`;
  });
  const head = `${paint('gray', time.slice(11, 23))} ${paint(COLOURS[level], level.toUpperCase().padEnd(5))} ${paint('bold', inWords(event))}`;
  return `${[[head, ...words].join(' '), ...stacks.map((line) => paint('gray', line))].join('\n')}\n`;
}

/** Writes a line. The types take what the table of events has: the event at this level, all of its fields and no other. */
export type Log<Level extends LogLevel> = <const Event extends LogEventAt<Level>, Fields extends object>(
  fields: Fields & LogFields<Event, Fields>,
  event: Event,
) => void;

export interface Logger extends Readonly<{ [Level in LogLevel]: Log<Level> }> {
  /** Whether lines of level debug are written. */
  readonly isVerbose: boolean;
  /** Names the replica in each line from now on. */
  identify(replica: string): void;
  /** Writes what this level lets through from now on. */
  setLevel(level: LoggerOptions['level']): void;
}

/** The logger of the process. Each line names the host. What it writes holds no secrets and no person's data, whatever it is given. */
export function createLogger({ level, destination = process.stdout }: LoggerOptions): Logger {
  const write = (line: string) => {
    const text = scrubbed(line);
    destination.write(destination.isTTY ? forPeople(text, destination) : text);
  };
  const base = { host: hostname() };
  const unnamed = pino(
    {
      level,
      base,
      messageKey: 'event',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      // Errors are serialized with all other fields below; pino's own way leaves out fields and joins messages.
      serializers: { error: (error) => error },
      formatters: {
        level: (label) => ({ level: label }),
        log: (object) => fields(object, 0),
      },
    },
    { write },
  );
  let logger: Pino = unnamed;
  const at = (named: LogLevel) => (about: object, event: string) => logger[named](about, event);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    isVerbose: logger.isLevelEnabled('debug'),
    // Not by setBindings, which adds a second `replica` when a reload names the replica again.
    identify: (replica) => {
      logger = unnamed.child({ replica }, { level: logger.level });
    },
    setLevel: (wanted) => {
      logger.level = wanted;
    },
  };
}

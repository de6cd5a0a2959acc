/** Rows of the program as a table of a statement: one array for each column, which costs one parameter however many rows there are. */
import { arrayElement, type Fragment, type Queries } from './database.ts';

type NumberType = 'bigint' | 'float8' | 'integer' | 'real' | 'smallint';
/** Postgres types that a column may have; the words of `poll_reason` need no quotes. */
type ColumnType = NumberType | 'boolean' | 'date' | 'purchase_watch_internal.poll_reason' | 'text' | 'timestamptz';

/** The type of each column, and the function that takes the column's value from a row; null stays null. */
export type Columns<Row> = Readonly<Record<string, readonly [type: ColumnType, value: (row: Row, index: number) => unknown]>>;

type Trimmed<Text> = Text extends `${' ' | '\n'}${infer Rest}` ? Trimmed<Rest> : Text;
type CamelCase<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<CamelCase<Rest>>}` : Name;
/** The fields that columns written as `id bigint, entered_at timestamptz` are taken from: `id` and `enteredAt`. */
type FieldsOf<Listed> = Listed extends `${infer Column},${infer Rest}`
  ? FieldsOf<Column> | FieldsOf<Rest>
  : Trimmed<Listed> extends `${infer Name} ${ColumnType}`
    ? CamelCase<Name>
    : 'a column is a name and a type';
type Listed<Row, Text> = FieldsOf<Text> extends keyof Row ? Text : { readonly missing: Exclude<FieldsOf<Text>, keyof Row> };

/**
 * SQL for rows as a table: `unnest(…) as name (columns)`, with their place from 1 as a last column where `place` names it. A
 * `timestamptz` takes an Instant. Columns that are fields of the rows are listed as SQL lists them, `id bigint, entered_at timestamptz`.
 */
export function columns<Row, const Text extends string>(
  sql: Queries,
  rows: readonly Row[],
  name: string,
  listed: Text & Listed<Row, Text>,
  place?: string,
): Fragment;
export function columns<Row>(sql: Queries, rows: readonly Row[], name: string, taken: Columns<Row>, place?: string): Fragment;
export function columns<Row>(
  sql: Queries,
  rows: readonly Row[],
  name: string,
  given: Columns<Row> | string,
  place?: string,
): Fragment {
  const taken: Columns<Row> = typeof given === 'string' ? columnsIn(given) : given;
  const types = Object.values(taken);
  const names = [...Object.keys(taken), ...(place === undefined ? [] : [place])];
  const hasTimes = types.some(([type]) => type === 'timestamptz');
  const read = names.map((column) =>
    taken[column]?.[0] === 'timestamptz' ? `to_timestamp(${column} / 1000) as ${column}` : column,
  );
  const from = hasTimes ? `(select ${read.join()} from unnest(` : 'unnest(';
  const as = `)${place === undefined ? '' : ' with ordinality'} as ${name} (${names.join()})${hasTimes ? `) as ${name}` : ''}`;
  // A time travels as a number, which is written and read five times as fast.
  const texts = types.map(
    ([type], index) => `::${type === 'timestamptz' ? 'float8' : type}[]${index === types.length - 1 ? as : ','}`,
  );
  // One fragment with all parameters: the driver would join a fragment for each column again for every statement.
  return sql(templateOf([from, ...texts]), ...types.map(([type, value]) => arrayText(type, rows.map(value))));
}

/** Listed columns by their text. */
const known = new Map<string, Columns<never>>();

function columnsIn<Row>(text: string): Columns<Row> {
  const found = (known.get(text) as Columns<Row> | undefined) ?? Object.fromEntries(text.split(',').map(columnIn<Row>));
  known.set(text, found);
  return found;
}

function columnIn<Row>(text: string) {
  const [name, type] = text.trim().split(' ') as [string, ColumnType];
  const field = name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as keyof Row;
  return [name, [type, (row: Row) => row[field]]] as const;
}

/**
 * Templates by their text. The driver keeps an Error for each template array that it was ever given (`originCache` of postgres.js
 * 3.4), since the templates of a program are constants: a new array for each statement would fill the memory within a day.
 */
const templates = new Map<string, TemplateStringsArray>();

function templateOf(strings: readonly string[]): TemplateStringsArray {
  const text = strings.join('$');
  const known = templates.get(text);
  if (known !== undefined) return known;
  const template = Object.assign([...strings], { raw: strings });
  templates.set(text, template);
  return template;
}

/** The text of an array. The driver is not left to write the array: it would guess the type from the first element. */
function arrayText(type: ColumnType, values: readonly unknown[]): string {
  if (type === 'text') return `{${values.map(arrayElement).join()}}`;
  return `{${values.map((value) => value ?? 'NULL').join()}}`;
}

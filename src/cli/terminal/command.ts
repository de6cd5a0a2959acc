/** How commands are declared: as data, from which commander gets arguments and options, and the code the types of their values. */
import { Argument, type Command, Option } from 'commander';
import type { CliContext } from './context.ts';
import { SecretOption } from './secret-option.ts';

interface More {
  /** Reads a value; `before` is the value read of the same option or argument before. Throws InvalidArgumentError. */
  // biome-ignore lint/suspicious/noExplicitAny: a reader alone knows its own values.
  readonly read?: (text: string, before: any) => unknown;
  readonly choices?: readonly string[];
  /** The value of an option that is not given, and its text in the help. */
  readonly usual?: unknown;
  readonly shown?: string;
  readonly isNeeded?: true;
  readonly conflicts?: readonly string[];
  /** The value of a flag without one, for `read`. */
  readonly preset?: string;
  /** The value may be `-` or `@file`; answers whether a value in the command itself is a secret, which a remark tells then. */
  readonly isSecret?: (value: string) => boolean;
}

/** An option, or an argument such as `<id>`. */
type Part = readonly [flags: string, means: string, more?: More];
export type ParameterParts = readonly Part[];

type Camel<Text extends string> = Text extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Text;
type Word<Text extends string> = Text extends `${infer First} ${string}` ? First : Text;
type Name<Flags extends string> = Flags extends `${string}--no-${infer Rest}`
  ? Camel<Word<Rest>>
  : Flags extends `${string}--${infer Rest}`
    ? Camel<Word<Rest>>
    : Flags extends `${'<' | '['}${infer Argument}${'...>' | '...]' | '>' | ']'}`
      ? Argument
      : never;
type Value<Of extends Part> = Of[2] extends { read: (...given: never) => infer Read }
  ? Read
  : Of[2] extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Of[0] extends `${string}...${string}`
      ? string[]
      : Of[0] extends `${string}--${string}[${string}`
        ? string | true
        : Of[0] extends `${string}${'<' | '['}${string}`
          ? string
          : boolean;
/** A flag that is not given is false. */
type IsSure<Of extends Part> = Of[2] extends { usual: unknown } | { isNeeded: true }
  ? true
  : Of[0] extends `<${string}` | `[${string}...]` | `--no-${string}`
    ? true
    : Value<Of> extends boolean
      ? true
      : false;

/** The values of arguments and options by name, as commander names them. */
export type Given<Of extends ParameterParts> = {
  readonly [Each in Of[number] as IsSure<Each> extends true ? Name<Each[0]> : never]: Value<Each>;
} & {
  readonly [Each in Of[number] as IsSure<Each> extends true ? never : Name<Each[0]>]?: Value<Each>;
};

interface Help {
  readonly description?: string;
  /** Follows the options. */
  readonly after?: string;
  readonly examples?: readonly (readonly [call: string, meaning: string])[];
}

export interface Declared<Arguments extends ParameterParts, Options extends ParameterParts> extends Help {
  /** The line of a command in the help of its group. */
  readonly summary?: string;
  readonly arguments?: Arguments;
  readonly options?: Options;
}

export type Register = (command: Command, context: CliContext) => void;

/** A command that runs with the values of its arguments and options. */
export function declare<const Arguments extends ParameterParts, const Options extends ParameterParts>(
  declared: Declared<Arguments, Options>,
  run: (context: CliContext, given: Given<Arguments> & Given<Options>) => void | Promise<void>,
): Register {
  return (command, context) => {
    if (declared.summary !== undefined) command.summary(declared.summary);
    for (const [flags, means, { read, choices } = {}] of (declared.arguments ?? []) as ParameterParts) {
      const argument = new Argument(flags, means);
      if (choices !== undefined) argument.choices(choices);
      if (read !== undefined) argument.argParser(read);
      command.addArgument(argument);
    }
    for (const each of (declared.options ?? []) as ParameterParts) command.addOption(optionOf(each));
    addHelp(command, declared);
    command.action(() => run(context, valuesOf(command) as Given<Arguments> & Given<Options>));
  };
}

/** Commands below a name; `list` runs without one. */
export function group(help: Help, commands: Readonly<Record<string, Register>>): Register {
  return (command, context) => {
    for (const [name, register] of Object.entries(commands))
      register(command.command(name, { isDefault: name === 'list' }), context);
    addHelp(command, help);
  };
}

function optionOf([flags, means, more = {}]: Part): Option {
  const { read, choices, usual, shown, isNeeded = false, conflicts = [], preset, isSecret } = more;
  const option = isSecret === undefined ? new Option(flags, means) : new SecretOption(flags, means, isSecret);
  if (choices !== undefined) option.choices(choices);
  if (read !== undefined) option.argParser(read);
  if (preset !== undefined) option.preset(preset);
  return option
    .default(usual, shown)
    .makeOptionMandatory(isNeeded)
    .conflicts([...conflicts]);
}

function addHelp(command: Command, { description, after, examples = [] }: Help): void {
  if (description !== undefined) command.description(description);
  if (after !== undefined) command.addHelpText('after', after);
  if (examples.length === 0) return;
  const width = Math.max(...examples.map(([call]) => call.length));
  const lines = examples.map(([call, meaning]) => `  $ purchase-watch ${call.padEnd(width)}  ${meaning}`);
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

function valuesOf(command: Command): Record<string, unknown> {
  const { options, registeredArguments, processedArgs } = command;
  const negated = options.filter(({ negate }) => negate).map((option) => option.attributeName());
  const flags = options.filter((option) => option.isBoolean() && !negated.includes(option.attributeName()));
  return {
    ...Object.fromEntries(flags.map((option) => [option.attributeName(), false])),
    ...command.opts(),
    ...Object.fromEntries(
      registeredArguments.map((argument, at) => [argument.name(), processedArgs[at] ?? (argument.variadic ? [] : undefined)]),
    ),
  };
}

/** The words and flags that may follow each command, read from the declarations of the commands. */
import type { Argument, Command, Option } from 'commander';

export interface Word {
  readonly text: string;
  readonly means: string;
}

export interface Flag extends Word {
  /** The values that a flag takes; null when it takes none. */
  readonly value: 'file' | 'any' | readonly string[] | null;
}

/** A command, or the program itself. */
export interface CommandWords {
  /** The words typed up to here, such as `incidents show`, by every name of the command; the empty text for the program. */
  readonly paths: readonly string[];
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

/** The program and all that is below it; the first path of a place is the one that names it. */
export function placesOf(program: Command): CommandWords[] {
  return below(program, ['']);
}

function below(command: Command, paths: readonly string[]): CommandWords[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const words = commands.map((each) => ({ text: each.name(), means: each.summary() }));
  const choices = command.registeredArguments.flatMap(({ argChoices }: Argument) => argChoices ?? []);
  // Without a word, a group of commands lists, and takes the options of its list.
  const list = commands.find((each) => each.name() === 'list');
  const options = [command, ...(list === undefined ? [] : [list])].flatMap((each) => help.visibleOptions(each));
  const flags = new Map(options.flatMap((option) => flagsOf(option).map((flag) => [flag.text, flag])));
  const names = command.name() === 'help' ? wordsOfHelp(command) : [];
  const here = {
    paths,
    words: [...words, ...choices.map((text) => ({ text, means: '' })), ...names],
    flags: [...flags.values()],
  };
  return [here, ...commands.flatMap((each) => below(each, pathsTo(each, paths)))];
}

function pathsTo(command: Command, paths: readonly string[]): string[] {
  return [command.name(), ...command.aliases()].flatMap((name) => paths.map((path) => `${path} ${name}`.trim()));
}

function wordsOfHelp({ parent }: Command): Word[] {
  return parent!.commands
    .filter((each) => each.name() !== 'help' && each.summary() !== '')
    .map((each) => ({ text: each.name(), means: each.summary() }));
}

function flagsOf(option: Option): Flag[] {
  const { short, long, flags, required, optional, argChoices, description: means } = option;
  const value = required || optional ? (argChoices ?? (/[<[](?:file|path)[\]>]/.test(flags) ? 'file' : 'any')) : null;
  return [long, short].flatMap((text) => (text ? [{ text, means, value }] : []));
}

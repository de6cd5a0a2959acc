/** `config`: every setting and where it came from, without secrets. */

import { type Command, Option } from 'commander';
import { describeSettings } from '../../config/describe.ts';
import { loadSettings } from '../../config/load-settings.ts';
import { markdownReference, publishedSchema } from '../../config/reference.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { printJson, printLine, styled } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

interface ConfigOptions {
  readonly json?: true;
  readonly schema?: true;
  readonly markdown?: true;
}

async function config(context: CliContext, options: ConfigOptions): Promise<void> {
  if (options.schema) return printJson(context, publishedSchema());
  if (options.markdown) return void context.stdout.write(markdownReference());

  const settings = loadSettings(context.env);
  const described = describeSettings(settings);
  if (options.json) {
    const byName = Object.fromEntries(described.map(({ name, value, origin }) => [name, { value, origin }]));
    return printJson(context, { settings: byName, ignored: settings.ignored });
  }
  printTable(
    context,
    ['setting', 'value', 'from'],
    described.map(({ name, text, origin }) => [name, text, origin]),
  );
  const remark = (text: string) => printLine(context, styled(context, 'yellow', text));
  if (settings.ignored.length > 0) {
    remark(`\nIgnored, because the file has sites of its own: ${settings.ignored.join(', ')}`);
  }
  if (settings.sites.length === 0) {
    remark(
      '\nThere is no site yet: start needs CHECKOUT_BASE_URL, CHECKOUT_CLIENT_ID and CHECKOUT_CLIENT_SECRET, or sites in the file.',
    );
  }
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Shows every setting and where it came from, without secrets. Wrong settings are listed all at once (exit code 2).',
    )
    .addOption(new Option('--json', 'write JSON').conflicts(['schema', 'markdown']))
    .addOption(new Option('--schema', 'write the JSON Schema of the settings file, for editors').conflicts('markdown'))
    .option('--markdown', 'write the reference of all settings as Markdown')
    .action((options: ConfigOptions) => config(context, options));
  examples(command, [
    ['config', 'what holds now'],
    ['config --json | jq .settings.PORT', 'one setting'],
    ['config --schema > purchase-watch.schema.json', 'for editors: "$schema" or yaml-language-server'],
  ]);
}

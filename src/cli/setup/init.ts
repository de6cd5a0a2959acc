/** `init`: the first settings, written and tried. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkSite } from '../../actions/doctor/site.ts';
import { checked } from '../../actions/overview/finding.ts';
import { loadSettings } from '../../config/load-settings.ts';
import { wayToSite } from '../../config/ways.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { printFinding } from '../terminal/finding.ts';
import { printLine, printRemark } from '../terminal/output.ts';
import { QUESTIONS, readAnswers } from './answers.ts';
import { environmentFile, SETTINGS_FILE, withOwnSecrets } from './files.ts';

const ENV_FILE = '.env';
const SETTINGS = 'purchase-watch.yaml';

/** Options of the questions. */
const ANSWERS = QUESTIONS.map(({ option, asks, without, isFile, isSecret }) => {
  const means = without === undefined ? asks : `${asks}; without it: ${without}`;
  if (isFile) return [`--${option} <file>`, `${asks}: the file that holds it`] as const;
  return [`--${option} <value>`, means, isSecret === undefined ? {} : { isSecret }] as const;
});

export const register = declare(
  {
    description:
      'Writes .env with addresses, credentials and new secrets, and purchase-watch.yaml with examples of other settings. Asks at a terminal for what neither options nor variables say, and calls the service once to try the credentials. Overwrites no file.',
    options: [
      ...ANSWERS,
      ['--folder <path>', 'where to write the files', { usual: '.' }],
      ['--no-try', 'do not call the service'],
    ],
    examples: [
      ['init', 'asks for everything'],
      ['init --client-secret-file secret.txt', 'asks for the rest'],
      ['init --folder staging', 'a second set of settings'],
    ],
  },
  async (context, { folder, try: isTried, ...values }: Readonly<Record<string, unknown>> & { folder: string; try: boolean }) => {
    const [envFile, settingsFile] = [join(folder, ENV_FILE), join(folder, SETTINGS)];
    for (const file of [envFile, settingsFile]) {
      if (existsSync(file))
        throw new AppError('conflict', `${file} is there already: move it away, or name another folder with --folder`);
    }
    const given = new Map(
      QUESTIONS.flatMap(({ option }) => {
        // Commander names an option's value in camel case.
        const value = values[option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
        return typeof value === 'string' ? [[option, value] as const] : [];
      }),
    );
    const variables = withOwnSecrets(await readAnswers(context, given, { ask: context.isTTY }), settingsFile);
    const text = environmentFile(variables);
    mkdirSync(folder, { recursive: true });
    writeFileSync(settingsFile, SETTINGS_FILE, { flag: 'wx' });
    writeFileSync(envFile, text, { flag: 'wx', mode: 0o600 });
    printLine(context, `Wrote ${envFile}, which nobody but you can read, and ${settingsFile}.`);
    if (isInRepository(folder)) printRemark(context, `Add ${ENV_FILE} to .gitignore: the file holds secrets.`);
    const isAccepted = !isTried || (await tries(context, variables));
    printLine(context, '\nNext:');
    for (const name of ['doctor', 'start']) printLine(context, `  ${commandLine`--env ${envFile} ${name}`}`);
    if (!isAccepted)
      throw new AppError('unavailable', `the service was not reached as it should: change ${envFile}, and run doctor as above`);
  },
);

/** Whether the folder is one of a Git repository that does not leave the file out. */
function isInRepository(folder: string): boolean {
  if (!existsSync(join(folder, '.git'))) return false;
  const ignored = join(folder, '.gitignore');
  return (
    !existsSync(ignored) ||
    !readFileSync(ignored, 'utf8')
      .split('\n')
      .some((line) => /^\/?\.env\*?\s*$/.test(line))
  );
}

/** Calls the service with the credentials; answers whether all went well. */
async function tries(context: CliContext, variables: ReadonlyMap<string, string>): Promise<boolean> {
  const proxies = Object.entries(context.env).filter(([name]) => /^(?:https?|no)_proxy$/i.test(name));
  const settings = loadSettings(Object.fromEntries([...proxies, ...variables]), { requireSite: true });
  const site = settings.sites[0]!;
  const called = { ...site, way: wayToSite(site, settings) };
  const findings = await checked('the service', 3 * site.timeout, (report) => checkSite(report, called, null));
  for (const finding of findings) printFinding(context, finding);
  return findings.every(({ verdict }) => verdict !== 'failed');
}

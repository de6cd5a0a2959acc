/** `config`: every setting and where it came from, without secrets. */

import type { Sql } from '../../actions/database.ts';
import { livingReplicas } from '../../actions/running-replicas.ts';
import { describeSettings } from '../../config/describe.ts';
import { loadSettings } from '../../config/load-settings.ts';
import { markdownReference, publishedSchema } from '../../config/reference.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { isGone, runningPid } from '../../runtime/process/process-identity.ts';
import { delay, monotonic } from '../../runtime/time.ts';
import { declare, type Register } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printRemark, styled } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

const show = declare(
  {
    description:
      'Shows every setting and where it came from, without secrets. Wrong settings are listed all at once (exit code 2).',
    options: [
      ['--json', 'write JSON', { conflicts: ['schema', 'markdown'] }],
      ['--schema', 'write the JSON Schema of the settings file, for editors', { conflicts: ['markdown'] }],
      ['--markdown', 'write the reference of all settings as Markdown'],
    ],
    examples: [
      ['config', 'what holds now'],
      ['config --json | jq .settings.PORT', 'one setting'],
      ['config reload', 'running daemons take new settings'],
      ['config --schema > purchase-watch.schema.json', 'for editors: "$schema" or yaml-language-server'],
    ],
  },
  (context, { json, schema, markdown }) => {
    if (schema) return printJson(context, publishedSchema());
    if (markdown) return void context.stdout.write(markdownReference());
    const settings = loadSettings(context.env);
    const described = describeSettings(settings);
    if (json) {
      const byName = Object.fromEntries(described.map(({ name, value, origin }) => [name, { value, origin }]));
      return printJson(context, { settings: byName, ignored: settings.ignored });
    }
    printTable(context, described, {
      setting: ({ name }) => name,
      value: ({ text }) => text,
      from: ({ origin }) => origin,
    });
    const remark = (text: string) => printLine(context, styled(context, 'yellow', text));
    if (settings.ignored.length > 0) remark(`\nIgnored, because the file has sites of its own: ${settings.ignored.join(', ')}`);
    if (settings.sites.length === 0)
      remark(
        '\nThere is no site yet: start needs CHECKOUT_BASE_URL, CHECKOUT_CLIENT_ID and CHECKOUT_CLIENT_SECRET, or sites in the file.',
      );
  },
);

const reload = declare(
  {
    summary: 'have running daemons take the settings as they are now',
    description:
      'Checks the settings, and has every daemon of this database on this machine read its own again, as SIGHUP does. A daemon takes all of them or none, and what its variables name (HOST, PORT, DATABASE_…) with its next start.',
  },
  (context) => {
    loadSettings(context.env, { requireSite: true });
    return withDatabase(context, ({ sql }) => reloadDaemons(context, sql));
  },
);

export const register: Register = (command, context) => {
  reload(command.command('reload'), context);
  show(command, context);
};

/** How long daemons may take to go on with new settings: what is under way ends first. */
const TAKEN_WITHIN: Milliseconds = 30_000;

/** Asks every daemon of this machine to read its settings again, and waits until each runs with them. */
async function reloadDaemons(context: CliContext, sql: Sql): Promise<void> {
  const replicas = await livingReplicas(sql);
  const here = replicas.flatMap(({ id, process: identity }) => {
    const pid = runningPid(identity);
    return pid === null ? [] : [{ id, identity, pid }];
  });
  const elsewhere = replicas.filter(({ id, process: identity }) => !isGone(identity) && !here.some((each) => each.id === id));
  if (elsewhere.length > 0)
    printRemark(
      context,
      `${counted(elsewhere.length, 'daemon')} on other machines or in other containers: run this command there, or send SIGHUP.`,
    );
  if (here.length === 0) throw new AppError('not_found', 'no daemon of this database runs on this machine');
  for (const { pid } of here) hangUp(pid);
  const until = monotonic() + TAKEN_WITHIN;
  const waiting = new Map(here.map((each) => [each.identity, each]));
  while (waiting.size > 0 && monotonic() < until) {
    await delay(200);
    for (const { id, process: identity } of await livingReplicas(sql)) {
      const before = waiting.get(identity);
      if (before === undefined || before.id === id) continue;
      waiting.delete(identity);
      printLine(context, `process ${before.pid} runs with the settings as they are now (replica ${id})`);
    }
  }
  if (waiting.size === 0) return;
  const pids = [...waiting.values()].map(({ pid }) => pid).join(', ');
  throw new AppError(
    'unavailable',
    `process ${pids} did not take the settings within ${TAKEN_WITHIN / 1_000} s: its log says why (settings.refused); it has perhaps other variables than this terminal`,
  );
}

/** Asks a daemon to read its settings. One that has just ended is left to the wait, which says so. */
function hangUp(pid: number): void {
  try {
    process.kill(pid, 'SIGHUP');
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code === 'ESRCH') return;
    if (code !== 'EPERM') throw cause;
    const advice = 'run this command as that user or as root, or reload by its service manager (systemctl reload)';
    throw new AppError('unavailable', `process ${pid} is a daemon of another user: ${advice}`, { cause });
  }
}

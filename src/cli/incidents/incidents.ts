/** `incidents`: what is wrong, who looks after it, and what it was. */

import { type Command, Option } from 'commander';
import { incidentBody } from '../../actions/incidents/body.ts';
import { release as giveUp, acknowledge as lookAfter, remindingOf, answer as say } from '../../actions/incidents/incidents.ts';
import { CAUSE_KEYS, INCIDENT_KINDS, readCause, readIncidentId, readWord } from '../../actions/incidents/rules.ts';
import { CAUSES } from '../../domain/incidents/causes.ts';
import type { IncidentKind } from '../../domain/incidents/symptom.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { examples, limitOption, ruled } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { BY, nameOf, noteOf } from './care-options.ts';
import { printIncidents } from './list-incidents.ts';
import { showCustomers } from './show-customers.ts';
import { showIncident } from './show-incident.ts';

interface JsonOption {
  readonly json?: true;
}
interface ListOptions extends JsonOption {
  readonly open?: true;
  readonly all?: true;
  readonly site?: string;
  readonly kind?: IncidentKind;
  readonly limit: number;
  readonly cursor?: string;
}
interface CareOptions extends JsonOption {
  readonly by?: string;
  readonly note?: string;
}

async function list(context: CliContext, options: ListOptions): Promise<void> {
  await withDatabase(context, ({ sql }) => printIncidents(context, sql, options));
}

async function show(context: CliContext, id: string, { json }: JsonOption): Promise<void> {
  await withDatabase(context, (database) => showIncident(context, database, id, { json: json === true }), {
    restsOn: ['polling', 'alerts'],
  });
}

async function customers(context: CliContext, id: string, { json }: JsonOption): Promise<void> {
  await withDatabase(context, ({ sql }) => showCustomers(context, sql, { id, json: json === true }));
}

async function acknowledge(context: CliContext, id: string, { json, ...options }: CareOptions): Promise<void> {
  const care = { by: nameOf(context, options.by), note: noteOf(options.note) };
  await withDatabase(context, async ({ sql }) => {
    const incident = await lookAfter(sql, id, care);
    await recordCommand(sql, 'incidents acknowledge', { id });
    if (json) return printJson(context, incidentBody(incident));
    const more = incident.parts.length === 0 ? '' : `, and all ${incident.parts.length} that are part of it`;
    const speaker = await remindingOf(sql, incident);
    const quiet =
      speaker === null
        ? ': no more reminders are sent'
        : `. It is part of ${speaker}, which still reminds: ${commandLine`incidents acknowledge ${speaker}`}`;
    printLine(context, `${care.by} looks after ${id}${more}${quiet}`);
    printLine(context, `Say what it was, once you know: ${commandLine`incidents answer ${id} --cause …`}`);
  });
}

async function release(context: CliContext, id: string, { json }: JsonOption): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const incident = await giveUp(sql, id);
    await recordCommand(sql, 'incidents release', { id });
    if (json) return printJson(context, incidentBody(incident));
    const owner = incident.acknowledgedBy;
    const speaker = owner === null ? await remindingOf(sql, incident) : null;
    const reminds = owner !== null ? '' : speaker === null ? ': people are reminded of it again' : `; it is part of ${speaker}`;
    printLine(
      context,
      `${id} ${owner === null ? 'has no owner any more' : `still has the owner ${owner}, as part of ${incident.parent}`}${reminds}`,
    );
  });
}

async function answer(
  context: CliContext,
  id: string,
  { json, cause, ...options }: CareOptions & { readonly cause: string },
): Promise<void> {
  const care = { by: nameOf(context, options.by), note: noteOf(options.note) };
  await withDatabase(context, async ({ sql }) => {
    const incident = await say(sql, id, { cause, ...care });
    await recordCommand(sql, 'incidents answer', { id });
    if (json) return printJson(context, incidentBody(incident));
    const open = incident.endedAt === null ? '; it stays open until nothing is wrong any more' : '';
    const cited = incident.kind === 'stuck' ? '. It is cited when the same happens again.' : '';
    printLine(context, `kept what ${id} was: ${cause}, says ${care.by}${open}${cited}`);
  });
}

const ID = 'its id, such as inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2';
const BY_OPTION = new Option('--by <name>', BY);
const causesText = (): string => {
  const width = Math.max(...CAUSE_KEYS.map((key) => key.length));
  return `\nCauses (docs/alerts.md says more):\n${CAUSE_KEYS.map((key) => `  ${key.padEnd(width)}  ${CAUSES[key].title}`).join('\n')}`;
};

/** Declares the command and what it can do. */
export function register(command: Command, context: CliContext): void {
  command.description(
    'Many symptoms with one cause: a page where customers get stuck, a site that does not answer, a subscriber that takes nothing.',
  );
  const json = (sub: Command): Command => sub.option('--json', 'write JSON');
  const one = (name: string): Command => json(command.command(name)).argument('<id>', ID, ruled(readIncidentId));
  json(command.command('list', { isDefault: true }))
    .summary('list those that are open, the latest first')
    .option('--open', 'only open ones, as without it')
    .addOption(new Option('--all', 'also those that are over').conflicts('open'))
    .option('--site <name>', 'only of this site')
    .addOption(
      new Option('--kind <kind>', 'only these')
        .choices(INCIDENT_KINDS)
        .argParser(ruled((text) => readWord(text, INCIDENT_KINDS, 'kind of incident'))),
    )
    .addOption(limitOption())
    .addOption(new Option('--cursor <incident>', 'go on after this one').argParser(ruled(readIncidentId)))
    .action((options: ListOptions) => list(context, options));
  one('show')
    .summary('show one: what it rests on, likely causes, who was alerted of what, who looks after it')
    .action((id: string, options: JsonOption) => show(context, id, options));
  one('customers')
    .summary('show who waits in one, with the money that waits, and what became of those who came')
    .action((id: string, options: JsonOption) => customers(context, id, options));
  one('acknowledge')
    .summary('say that you look after it: no more reminders are sent')
    .addOption(BY_OPTION)
    .option('--note <text>', 'for the others')
    .action((id: string, options: CareOptions) => acknowledge(context, id, options));
  one('release')
    .summary('give it up again, so that reminders go on')
    .action((id: string, options: JsonOption) => release(context, id, options));
  one('answer')
    .summary('say what it was, while it is open or afterwards; cited when customers get stuck there again')
    .addOption(new Option('--cause <cause>', 'what it was').choices(CAUSE_KEYS).argParser(ruled(readCause)).makeOptionMandatory())
    .option('--note <text>', 'more of it, in your words')
    .addOption(BY_OPTION)
    .addHelpText('after', causesText)
    .action((id: string, options: CareOptions & { readonly cause: string }) => answer(context, id, options));
  command.addHelpText('after', '\nOptions of the list: purchase-watch incidents list --help');
  examples(command, [
    ['incidents', 'what is wrong now'],
    ['incidents --all --site se', 'also what is over'],
    ['incidents show inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'all that is known of one'],
    ['incidents customers inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'who waits, to call customers back'],
    ['incidents acknowledge inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2 --by Kim', 'you look after it'],
    ['incidents answer inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2 --cause deploy --by Kim', 'what it was'],
  ]);
}

/** `incidents`: what is wrong, who looks after it, and what it was. */

import { incidentBody } from '../../actions/incidents/body.ts';
import { release as giveUp, acknowledge as lookAfter, remindingOf, answer as say } from '../../actions/incidents/incidents.ts';
import { CAUSE_KEYS, readCause } from '../../actions/incidents/rules.ts';
import { CAUSES } from '../../domain/incidents/causes.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { JSON_OPTION, ruled } from '../terminal/arguments.ts';
import { declare, group } from '../terminal/command.ts';
import { onDatabase, withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { BY, INCIDENT_ID, nameOf, noteOf } from './care-options.ts';
import { list } from './list-incidents.ts';
import { aftermath } from './show-aftermath.ts';
import { customers } from './show-customers.ts';
import { show } from './show-incident.ts';

const BY_OPTION = ['--by <name>', BY] as const;

const acknowledge = declare(
  {
    summary: 'say that you look after it: no more reminders are sent',
    arguments: [INCIDENT_ID],
    options: [JSON_OPTION, BY_OPTION, ['--note <text>', 'for the others']],
  },
  async (context, { id, json, ...options }) => {
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
  },
);

const release = onDatabase(
  { summary: 'give it up again, so that reminders go on', arguments: [INCIDENT_ID], options: [JSON_OPTION] },
  async (context, { id, json }, { sql }) => {
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
  },
);

const answer = declare(
  {
    summary: 'say what it was, while it is open or afterwards; cited when customers get stuck there again',
    arguments: [INCIDENT_ID],
    options: [
      JSON_OPTION,
      ['--cause <cause>', 'what it was', { choices: CAUSE_KEYS, read: ruled(readCause), isNeeded: true }],
      ['--note <text>', 'more of it, in your words'],
      BY_OPTION,
    ],
    after: causesText(),
  },
  async (context, { id, json, cause, ...options }) => {
    const care = { by: nameOf(context, options.by), note: noteOf(options.note) };
    await withDatabase(context, async ({ sql }) => {
      const incident = await say(sql, id, { cause, ...care });
      await recordCommand(sql, 'incidents answer', { id });
      if (json) return printJson(context, incidentBody(incident));
      const open = incident.endedAt === null ? '; it stays open until nothing is wrong any more' : '';
      const cited = incident.kind === 'stuck' ? '. It is cited when the same happens again.' : '';
      printLine(context, `kept what ${id} was: ${cause}, says ${care.by}${open}${cited}`);
    });
  },
);

function causesText(): string {
  const width = Math.max(...CAUSE_KEYS.map((key) => key.length));
  const lines = CAUSE_KEYS.map((key) => `  ${key.padEnd(width)}  ${CAUSES[key].title}`);
  return `\nCauses (docs/alerts.md says more):\n${lines.join('\n')}`;
}

export const register = group(
  {
    description:
      'Many symptoms with one cause: a page where customers get stuck, a site that does not answer, a subscriber that takes nothing.',
    after: '\nOptions of the list: purchase-watch incidents list --help',
    examples: [
      ['incidents', 'what is wrong now'],
      ['incidents --all --site se', 'also what is over'],
      ['incidents show inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'all that is known of one'],
      ['incidents customers inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'who waits, to call customers back'],
      ['incidents aftermath inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2', 'what it came to, to forward'],
      ['incidents acknowledge inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2 --by Kim', 'you look after it'],
      ['incidents answer inc_01JD0M9Q2V6QW3E7T8Y9Z0A1B2 --cause deploy --by Kim', 'what it was'],
    ],
  },
  { list, show, customers, aftermath, acknowledge, release, answer },
);

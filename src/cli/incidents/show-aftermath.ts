/** `incidents aftermath`: what an incident came to, as text to forward, or its customers as CSV. */

import { aftermathCsv, readAftermath } from '../../actions/incidents/aftermath.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { onDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine } from '../terminal/output.ts';
import { INCIDENT_ID } from './care-options.ts';

export const aftermath = onDatabase(
  {
    summary: 'say what one came to: who was in it, how each ended, and what was lost beyond usual',
    arguments: [INCIDENT_ID],
    options: [JSON_OPTION, ['--csv', 'write its customers as CSV', { conflicts: ['json'] }]],
  },
  async (context, { id, json, csv }, { sql }) => {
    const body = await readAftermath(sql, id);
    if (json) return printJson(context, body);
    if (csv) return void context.stdout.write(aftermathCsv(body));
    // Marks are as people and programs wrote them.
    printLine(context, [body.sentence, '', ...body.text.split('\n').map(printable), '', body.reckoning].join('\n'));
    if (body.worstAt !== null)
      printLine(context, `\nHow it was when most customers waited: ${commandLine`status --at ${body.worstAt}`}`);
  },
);

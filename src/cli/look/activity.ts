/** `activity`: what was done in each minute. */

import { DEFAULT_MINUTES, MOST_MINUTES, readActivity } from '../../actions/flow/activity.ts';
import { requireSubscriber } from '../../actions/subscribers/subscribers.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { wholeArgument } from '../terminal/arguments.ts';
import { onDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';

export const register = onDatabase(
  {
    description:
      'Polls, changes of state, the longest lag, deliveries and failed attempts of each of the last minutes, over all replicas. Replicas write what they did every ten seconds, so the last minute is not whole yet.',
    options: [
      ['--site <name>', 'polls and changes of this site alone'],
      ['--subscriber <name>', 'deliveries to this subscriber alone'],
      [
        '--minutes <count>',
        `how many minutes, the present one included; ${MOST_MINUTES} at most`,
        { read: wholeArgument(1, MOST_MINUTES), usual: DEFAULT_MINUTES },
      ],
      ['--json', 'write JSON, as GET /v1/activity answers'],
    ],
    examples: [
      ['activity', 'the last hour'],
      ['activity --site se --minutes 10', 'the last ten minutes of a site'],
      ["activity --json | jq '[.minutes[].failedPolls] | add'", 'for programs'],
    ],
  },
  async (context, { site, subscriber, minutes, json }, { sql }) => {
    await requireSite(sql, site);
    if (subscriber !== undefined) await requireSubscriber(sql, subscriber);
    const found = await readActivity(sql, { site: site ?? null, subscriber: subscriber ?? null, minutes });
    if (json) return printJson(context, found);
    const busy = found.minutes.filter((each) => each.polls + each.changes + each.delivered + each.failedAttempts > 0);
    const to = found.at.slice(0, 16).replace('T', ' ');
    const sites = site === undefined ? 'all sites' : `site ${site}`;
    const subscribers = subscriber === undefined ? 'all subscribers' : `subscriber ${subscriber}`;
    printLine(context, `The last ${counted(minutes, 'minute')} up to ${to} UTC, ${sites}, ${subscribers}`);
    if (busy.length === 0) return printLine(context, 'Nothing was polled or delivered.');
    printLine(context);
    printTable(context, busy, {
      minute: ({ at }) => at.slice(11, 16),
      polls: ({ polls }) => polls,
      failed: ({ failedPolls }) => failedPolls,
      changes: ({ changes }) => changes,
      'longest lag': ({ greatestLagMs }) => (greatestLagMs === null ? null : humanDuration(greatestLagMs)),
      delivered: ({ delivered }) => delivered,
      'failed attempts': ({ failedAttempts }) => failedAttempts,
    });
    const calm = minutes - busy.length;
    if (calm > 0) printLine(context, `\nNothing was polled or delivered in ${counted(calm, 'other minute')}.`);
  },
);

/** `rehearse`: which alerts would have been sent in a past time under other settings. */

import { readClock, type Sql } from '../../actions/database.ts';
import { rehearseSettings } from '../../actions/rehearse/settings.ts';
import { type RehearsedSpan, readSpan } from '../../actions/rehearse/span.ts';
import { listSites } from '../../actions/sites/sites.ts';
import { loadAlertSettings } from '../../config/rehearsed.ts';
import { AppError } from '../../domain/values/errors.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { onDatabase } from '../terminal/database.ts';
import { counted, printJson } from '../terminal/output.ts';
import { countOn } from '../terminal/progress.ts';
import { knownSite } from '../terminal/site.ts';
import { showRehearsal } from './show-rehearsal.ts';

/** On no terminal a line for so many stays. */
const LINE_EVERY = 100_000;

export const register = onDatabase(
  {
    description:
      'Goes through the recorded changes of state of a past time again and prints which messages about incidents, single stuck checkouts and orders paid twice would have been sent, when and to which channel, beside what was sent. With --config, states, polling and slack of that file are tried, beside the present ones: those of this terminal (POST /v1/rehearsals and the page /rehearse of the console take those of the daemon). The 14 days before teach what is usual. Only reads, while daemons run, too.',
    options: [
      ['--from <moment>', 'from when: a duration back such as 7d, or a time with its zone', { isNeeded: true }],
      ['--to <moment>', 'up to when; by default now'],
      ['--config <file>', 'settings to try; by default the present ones'],
      ['--site <name>', 'only this site'],
      ['--ignore-silences', 'as if there had been no silences'],
      JSON_OPTION,
    ],
    examples: [
      ['rehearse --from 7d', 'the last week under the present settings'],
      ['rehearse --from 7d --config new.yaml', 'the same week under settings to try'],
      ['rehearse --from 2026-11-20T00:00:00Z --to 2026-11-21T00:00:00Z --json', 'one day, for programs'],
    ],
    restsOn: ['polling', 'alerts'],
  },
  async (context, { from, to, config = null, site = null, ignoreSilences, json }, { sql, settings }) => {
    const sites = (await listSites(sql)).filter(({ configured }) => configured).map(({ name }) => name);
    const tried = config === null ? settings : loadAlertSettings(context.env, config, sites);
    if (site !== null) knownSite(site, sites);
    const span = await spanOf(sql, { from, to });
    const progress = countOn(context, LINE_EVERY);
    const rules = { present: settings, tried, isCompared: config !== null };
    const body = await rehearseSettings(sql, rules, {
      ...span,
      site,
      ignoreSilences,
      config: config ?? settings.configFile,
      onProgress: (stays, share) => progress.show(stays, `${Math.floor(share * 100)} %, ${counted(stays, 'stay')} …`),
    }).finally(progress.clear);
    if (json) printJson(context, body);
    else showRehearsal(context, body);
  },
);

/** The time to go through, by the database's clock. */
async function spanOf(sql: Sql, { from, to }: { from: string; to: string | undefined }): Promise<RehearsedSpan> {
  const { now } = await readClock(sql);
  const read = readSpan({ from, to }, { now });
  if (!('problems' in read)) return read;
  const given = { from, to: to ?? '' };
  const problems = read.problems.map(
    ({ field, problem }) => `--${field} ${JSON.stringify(given[field].slice(0, 100))}: ${problem}`,
  );
  throw new AppError('invalid', problems.join('\n'));
}

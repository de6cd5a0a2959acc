/** `doctor`: checks everything that has to work, with real calls, and says what to do about what does not. */

import { examine } from '../../actions/doctor/doctor.ts';
import { type Finding, findingBody } from '../../actions/overview/finding.ts';
import { AppError } from '../../domain/values/errors.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import { MIGRATIONS } from '../terminal/database.ts';
import { printFinding } from '../terminal/finding.ts';
import { counted, printJson, printLine, styled } from '../terminal/output.ts';

export const register = declare(
  {
    description:
      'Checks with real calls settings, database, daemons, the port of the API, each site with its credentials, clocks and time zone, and all who get events or alerts. Receivers that are neither paused nor off get a signed event subscriber.test; nothing shows in Slack. Needs no daemon, and changes nothing.',
    options: [
      ['--site <name>', 'of the sites, only this one'],
      ['--no-send', 'send nothing to receivers and Slack'],
      ['--all', 'send it to receivers that are paused or off, too'],
      JSON_OPTION,
    ],
    examples: [
      ['doctor', 'exit code 1 when a check failed, 2 when the settings are wrong'],
      ['doctor --site se --no-send', 'one site, without test events'],
      ['doctor --json | jq \'.findings[] | select(.verdict != "ok")\'', 'what is not well'],
    ],
  },
  async (context, { site = null, send, all, json }) => {
    const findings: Finding[] = [];
    for await (const finding of examine({ env: context.env, migrations: MIGRATIONS, site, quiet: !send, all })) {
      findings.push(finding);
      if (!json) printFinding(context, finding);
    }
    const failed = findings.filter(({ verdict }) => verdict === 'failed').length;
    const warnings = findings.filter(({ verdict }) => verdict === 'warning').length;
    if (json) printJson(context, { ok: failed === 0, findings: findings.map(findingBody) });
    else if (failed + warnings === 0) printLine(context, styled(context, 'bold', 'Everything is well.'));
    else if (failed === 0) printLine(context, `Nothing failed; ${counted(warnings, 'warning')}.`);
    if (failed === 0) return;
    // Nothing was checked but the settings, when those are wrong.
    if (findings.every(({ about }) => about === 'settings'))
      throw new AppError('configuration', `the settings are wrong: ${counted(failed, 'problem')}`);
    throw new AppError('unavailable', `${counted(failed, 'check')} failed`);
  },
);

/** A silence as the command line takes it, checked by the rules of the API. All that is wrong is listed at once. */

import type { Sql } from '../../actions/database.ts';
import { INCIDENT_KINDS, LONGEST_REASON, readComing, readWord, readWords } from '../../actions/incidents/rules.ts';
import { type CheckedSilence, type SilenceField, silenceProblems } from '../../actions/incidents/silences.ts';
import { siteProblem } from '../../actions/sites/site-problem.ts';
import { type Checked, readState } from '../../actions/subscribers/rules.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Instant } from '../../domain/values/time.ts';
import { durationArgument } from '../terminal/arguments.ts';
import type { Given } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { BY, nameOf } from './care-options.ts';

export const SILENCE_OPTIONS = [
  ['--site <name>', 'only incidents of this site'],
  ['--state <state>', 'only of this state, by name or number'],
  // All that is wrong is listed at once, so the value is checked with the others.
  ['--kind <kind>', 'only these', { choices: INCIDENT_KINDS, read: (text: string) => text }],
  ['--subscriber <name>', 'only about this subscriber'],
  ['--everything', 'all incidents: needed when none of these is given'],
  ['--for <duration>', 'how long it lasts, from its beginning', { read: durationArgument }],
  ['--until <time>', 'when it ends: a time with its zone, or a duration from now', { conflicts: ['for'] }],
  ['--from <time>', 'when it begins: a time with its zone, or a duration from now; now, without it'],
  ['--reason <text>', 'why, for the others'],
  ['--by <name>', BY],
] as const;

type SilenceOptions = Given<typeof SILENCE_OPTIONS>;

/** The silence that the options ask for; throws AppError `invalid` with a line for each wrong option. */
export async function silenceOf(context: CliContext, sql: Sql, options: SilenceOptions, now: Instant): Promise<CheckedSilence> {
  const wrong = new Map<string, string>();
  const read = <T>(option: string, found: Checked<T> | null): T | undefined => {
    if (found === null) return undefined;
    if ('is' in found) return found.is;
    wrong.set(option, found.problem);
    return undefined;
  };
  const { site, subscriber, everything } = options;
  const given = <T>(text: string | undefined, rule: (text: string) => Checked<T>): Checked<T> | null => {
    const found = text === undefined ? null : rule(text);
    return found !== null && 'problem' in found ? { problem: `${quoted(text!)} ${found.problem}` } : found;
  };
  const state = read('state', given(options.state, readState));
  const kind = read(
    'kind',
    given(options.kind, (text) => readWord(text, INCIDENT_KINDS, 'kind of incident')),
  );
  const startsAt = read('from', given(options.from, readComing))?.(now);
  const until = read('until', given(options.until, readComing))?.(now);
  const ends = options.for === undefined ? 'until' : 'for';
  const endsAt = options.for === undefined ? until : (startsAt ?? now) + options.for;
  if (options.for === undefined && options.until === undefined)
    wrong.set('for', 'is missing: say how long with --for 2h, or until when with --until');
  const why = 'why, as in --reason "the service moves"';
  const reason = read(
    'reason',
    options.reason === undefined ? { problem: `is missing; give ${why}` } : readWords(options.reason, LONGEST_REASON, why),
  );
  const by = nameOr(context, options.by, wrong);

  const optionOf = (field: SilenceField): string => ({ startsAt: 'from', endsAt: ends })[field as string] ?? field;
  const found = await silenceProblems(
    sql,
    { site, state, kind, subscriber, everything, startsAt, endsAt },
    {
      now,
      siteProblem,
      isWrong: (field) => wrong.has(optionOf(field)),
      words: { yes: 'given', endsAt: `the end (--${ends})`, listSubscribers: '"purchase-watch subscribers"' },
    },
  );
  for (const { field, problem } of found) {
    const value = options[optionOf(field) as keyof SilenceOptions];
    // Some say the value themselves.
    wrong.set(optionOf(field), typeof value !== 'string' || problem.startsWith('"') ? problem : `${quoted(value)} ${problem}`);
  }
  if (wrong.size > 0 || reason === undefined || by === undefined || endsAt === undefined)
    throw new AppError('invalid', [...wrong].map(([option, problem]) => `--${option}: ${problem}`).join('\n'));
  return { site, state, kind, subscriber, reason, by, startsAt, endsAt };
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

function nameOr(context: CliContext, by: string | undefined, wrong: Map<string, string>): string | undefined {
  try {
    return nameOf(context, by);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    wrong.set('by', error.message.replace(/^--by: /, ''));
    return undefined;
  }
}

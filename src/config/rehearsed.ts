/** Settings that are only tried: when polls count as late and who is told of what, from a file that no daemon reads. */
import { AppError } from '../domain/values/errors.ts';
import { channelProblems, channelSettings, slackSettings } from './channels.ts';
import { file } from './schema/file-schema.ts';
import { pollPolicy } from './schema/policy.ts';
import type { Settings } from './settings.ts';
import { environmentOf } from './sources/environment.ts';
import { readSettingsFile } from './sources/file.ts';

/** What decides about alerts. */
export type AlertSettings = Pick<Settings, 'policy' | 'slack' | 'channels'>;

/**
 * Reads `states`, `polling`, `slack` and the channels of a file; the rest of it is checked and has no effect. Channels may name sites of
 * the file, or where it has none, `present` ones. Throws AppError('configuration') that lists every problem.
 */
export function loadAlertSettings(env: NodeJS.ProcessEnv, path: string, present: readonly string[]): AlertSettings {
  const problems: string[] = [];
  const environment = environmentOf(env);
  const found = readSettingsFile(path, environment, problems);
  const sections = { ...file.parse({}), ...found?.sections };
  const settings: AlertSettings = {
    policy: pollPolicy(sections.states, sections.polling, problems),
    channels: channelSettings(sections, environment, problems),
    slack: slackSettings(sections.slack, environment, problems),
  };
  const sites = found?.written(['sites']) ?? null;
  const siteNames = sites === null ? present : Object.keys(sites);
  problems.push(...channelProblems(settings.channels, siteNames));
  // The reader takes every file for the one of the variable.
  const told = [...new Set(problems)].map((problem) => problem.replace(/^PURCHASE_WATCH_CONFIG: /, '--config: '));
  if (told.length > 0) throw new AppError('configuration', told.join('\n'));
  return settings;
}

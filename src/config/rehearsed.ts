/** Settings that are only tried: when purchases count as stuck and who is alerted of what, from a file that no daemon reads, or one by one. */

import type { StuckMode } from '../domain/incidents/audience.ts';
import { defaultPolicyOf, type PollPolicy, policyOf } from '../domain/polling/poll-plan.ts';
import { numberOf, STATE_NAMES, type StateName } from '../domain/purchases/states.ts';
import { formatDuration } from '../domain/values/duration.ts';
import { AppError } from '../domain/values/errors.ts';
import type { Milliseconds } from '../domain/values/time.ts';
import { channelProblems, channelSettings, slackSettings } from './channels.ts';
import { file } from './schema/file-schema.ts';
import { limitOf, pollPolicy, withSites } from './schema/merged-plans.ts';
import type { Settings } from './settings.ts';
import { fileSites } from './sites.ts';
import { environmentOf } from './sources/environment.ts';
import { readSettingsFile } from './sources/file.ts';

/** The settings that decide about alerts. */
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
    policy: withSites(pollPolicy(sections.states, sections.polling, problems), fileSites(sections.sites), problems),
    channels: channelSettings(sections, environment, problems),
    slack: slackSettings(sections.slack, environment, problems),
  };
  const sites = found?.written(['sites']) ?? null;
  const siteNames = sites === null ? present : Object.keys(sites);
  problems.push(...channelProblems(settings.channels, siteNames));
  // The reader takes every file for the one of the variable.
  const wrong = [...new Set(problems)].map((problem) => problem.replace(/^PURCHASE_WATCH_CONFIG: /, '--config: '));
  if (wrong.length > 0) throw new AppError('configuration', wrong.join('\n'));
  return settings;
}

/** The lengths of time of the section `slack` that decide when people are alerted. */
export const ALERT_TIMES = ['groupWait', 'quietFor', 'groupInterval', 'repeatInterval'] as const;

/** Single settings to try; an absent one stays as it is. */
export interface TriedSettings {
  readonly states?:
    | { readonly [Name in StateName]?: { readonly stuckAfter?: Milliseconds | null | 'auto' | undefined } | undefined }
    | undefined;
  readonly slack?:
    | ({ readonly stuck?: StuckMode | undefined; readonly paidTwice?: boolean | undefined } & {
        readonly [Name in (typeof ALERT_TIMES)[number]]?: Milliseconds | undefined;
      })
    | undefined;
  /** `before`: null turns it off. Of sites with an `atRisk` of their own, theirs stays. */
  readonly polling?: { readonly atRisk?: { readonly before?: Milliseconds | null | undefined } | undefined } | undefined;
}

/** The states that can have a limit under these settings. */
export function limitableStates({ policy }: Pick<AlertSettings, 'policy'>): StateName[] {
  return STATE_NAMES.filter((name) => !policyOf(policy, numberOf(name)).final);
}

/** The present settings with those to try in their place, as if a settings file named them. */
export function tried(
  present: AlertSettings & Pick<Settings, 'origins'>,
  { states = {}, slack = {}, polling = {} }: TriedSettings,
): AlertSettings {
  const { policy, channels, origins } = present;
  const limits = limitableStates(present).flatMap((name) => {
    const written = states[name]?.stuckAfter;
    const value = numberOf(name);
    const limit = written === undefined ? null : limitOf(defaultPolicyOf(value), written, policy.sessionLength);
    return limit === null ? [] : [[value, { ...policyOf(policy, value), ...limit }] as const];
  });
  const { stuck = present.slack.stuck, paidTwice = present.slack.paidTwice } = slack;
  const before = polling.atRisk?.before;
  const atRisk = before == null ? (before === null ? null : policy.atRisk) : { minimumAmount: {}, ...policy.atRisk, before };
  const withRisk = (each: PollPolicy) => (each.atRisk === policy.atRisk ? { ...each, atRisk } : each);
  const times = Object.fromEntries(ALERT_TIMES.map((name) => [name, slack[name] ?? present.slack[name]]));
  const hasOwn = ({ kind, name }: AlertSettings['channels'][number], field: 'stuck' | 'paidTwice') =>
    origins.has(`${kind}.channels.${name}.${field}`);
  return {
    policy: {
      ...withRisk(policy),
      states: new Map([...policy.states, ...limits]),
      ...(policy.bySite && { bySite: new Map([...policy.bySite].map(([site, own]) => [site, withRisk(own)])) }),
    },
    slack: { ...present.slack, ...times, stuck, paidTwice },
    channels: channels.map((channel) => ({
      ...channel,
      stuck: hasOwn(channel, 'stuck') ? channel.stuck : stuck,
      paidTwice: hasOwn(channel, 'paidTwice') ? channel.paidTwice : paidTwice,
    })),
  };
}

export type ShownAlertSettings = ReturnType<typeof shownAlertSettings>;

/** The settings that `tried` may replace, with the values that hold, as a settings file would have them. */
export function shownAlertSettings({ policy, slack }: Pick<AlertSettings, 'policy' | 'slack'>) {
  const limit = (name: StateName): string => {
    const { stuckAfter, auto } = policyOf(policy, numberOf(name));
    return auto ? 'auto' : stuckAfter === null ? 'never' : formatDuration(stuckAfter);
  };
  const time = (name: (typeof ALERT_TIMES)[number]) => formatDuration(slack[name]);
  return {
    states: Object.fromEntries(limitableStates({ policy }).map((name) => [name, { stuckAfter: limit(name) }])),
    slack: {
      stuck: slack.stuck,
      paidTwice: slack.paidTwice,
      groupWait: time('groupWait'),
      quietFor: time('quietFor'),
      groupInterval: time('groupInterval'),
      repeatInterval: time('repeatInterval'),
    },
    polling: { atRisk: { before: policy.atRisk === null ? 'never' : formatDuration(policy.atRisk.before) } },
  };
}

/** One setting whose tried value differs from the present one. */
export interface ChangedSetting {
  /** The path of the setting in a settings file. */
  readonly setting: string;
  readonly present: string;
  readonly tried: string;
}

/** Settings that differ, in the order in which they are shown. */
export function changedSettings(present: ShownAlertSettings, other: ShownAlertSettings): ChangedSetting[] {
  const values = ({ states, slack, polling }: ShownAlertSettings): (readonly [string, string])[] => [
    ...Object.entries(states).map(([name, { stuckAfter }]) => [`states.${name}.stuckAfter`, stuckAfter] as const),
    ...Object.entries(slack).map(([name, value]) => [`slack.${name}`, String(value)] as const),
    ['polling.atRisk.before', polling.atRisk.before],
  ];
  const before = new Map(values(present));
  return values(other).flatMap(([setting, value]) => {
    const was = before.get(setting) ?? 'never';
    return was === value ? [] : [{ setting, present: was, tried: value }];
  });
}

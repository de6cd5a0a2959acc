/** The channels for people that settings name: that of the variable, and those of the file. */

import type { ChannelRule } from '../domain/incidents/audience.ts';
import { suggestion } from './kinds/nearest.ts';
import type { FileSettings } from './schema/file-schema.ts';
import type { ChannelSettings, Settings } from './settings.ts';
import type { Environment } from './sources/environment.ts';

/** The channel of SLACK_WEBHOOK_URL. */
export const DEFAULT_CHANNEL = 'default';

/** The subscriber that a channel is; no other one can be named so. */
export function channelSubscriber(name: string): string {
  return name === DEFAULT_CHANNEL ? '@slack' : `@slack-${name}`;
}

/** What each channel wants to hear, by its subscriber's name. */
export function channelRules({ slack }: Pick<Settings, 'slack'>): ChannelRule[] {
  return slack.channels.map(({ name, sites, severity, stuck }) => ({ name: channelSubscriber(name), sites, severity, stuck }));
}

/** How many messages an hour each channel gets at most, by its subscriber's name. */
export function channelCeilings({ slack }: Pick<Settings, 'slack'>): ReadonlyMap<string, number> {
  return new Map(slack.channels.map(({ name, maxPerHour }) => [channelSubscriber(name), maxPerHour]));
}

/** Where a channel's address is set, for sentences about it. */
export function channelSetting({ origins }: Pick<Settings, 'origins'>, name: string): string {
  const isVariable = name === DEFAULT_CHANNEL && origins.has('SLACK_WEBHOOK_URL');
  return isVariable ? 'SLACK_WEBHOOK_URL' : `slack.channels.${name}.webhookUrl`;
}

/** Makes the channels of a file's section and of the variables; their problems are told. */
export function slackSettings(
  { channels: named, ...section }: FileSettings['slack'],
  environment: Environment,
  problems: string[],
): Settings['slack'] {
  const url = environment.read('SLACK_WEBHOOK_URL', problems);
  if (environment.isSet('SLACK_WEBHOOK_URL') && DEFAULT_CHANNEL in named) {
    problems.push(
      `slack.channels.${DEFAULT_CHANNEL}: SLACK_WEBHOOK_URL makes a channel of the same name; keep one of them, or rename this one`,
    );
  }
  const { maxPerHour, stuck } = section;
  const everything = { sites: null, severity: 'warning', maxPerHour, stuck } as const;
  const entries = Object.entries(named).toSorted(([one], [other]) => rank(one) - rank(other));
  const deadMansSwitch = environment.read('DEAD_MANS_SWITCH_URL', problems);
  return {
    ...section,
    channels: [
      ...(url === null ? [] : [{ name: DEFAULT_CHANNEL, webhookUrl: url, ...everything }]),
      ...entries.map(([name, each]) => ({
        name,
        webhookUrl: each.webhookUrl,
        sites: each.sites ?? null,
        severity: each.severity,
        maxPerHour: each.maxPerHour ?? maxPerHour,
        stuck: each.stuck ?? stuck,
      })),
    ],
    deadMansSwitch: environment.isSet('DEAD_MANS_SWITCH_URL') ? deadMansSwitch : section.deadMansSwitch,
  };
}

function rank(name: string): number {
  return name === DEFAULT_CHANNEL ? 0 : 1;
}

/** What is wrong between channels, or between them and the sites. */
export function channelProblems(channels: readonly ChannelSettings[], siteNames: readonly string[]): string[] {
  const known = siteNames.length === 0 ? 'there are no sites' : `known: ${siteNames.join(', ')}`;
  return channels.flatMap(({ name, webhookUrl, sites }, place) => {
    const at = `slack.channels.${name}`;
    const twin = channels.slice(0, place).find((other) => other.webhookUrl === webhookUrl);
    const unknown = (sites ?? []).flatMap((site, index) =>
      siteNames.includes(site)
        ? []
        : [`${at}.sites[${index}]: ${JSON.stringify(site)} is not a site${suggestion(site, siteNames)}; ${known}`],
    );
    return [
      ...(twin === undefined
        ? []
        : [
            `${at}.webhookUrl: is the address (not shown) of channel ${twin.name}, too, which would get everything twice; make another incoming webhook, or join the two`,
          ]),
      ...(sites?.length === 0
        ? [`${at}.sites: is empty, so the channel would hear of nothing; name sites, or leave it out for all`]
        : []),
      ...unknown,
    ];
  });
}

/** Sites that nobody hears of, and those of whose critical incidents alone somebody does; none where there is no channel at all. */
export function unheardSites({ slack, sites }: Pick<Settings, 'slack' | 'sites'>): {
  readonly unheard: readonly string[];
  readonly criticalOnly: readonly string[];
} {
  const of = (site: string): ChannelSettings[] => slack.channels.filter((each) => each.sites?.includes(site) ?? true);
  const names = slack.channels.length === 0 ? [] : sites.map(({ name }) => name);
  const heard = names.filter((site) => of(site).length > 0);
  return {
    unheard: names.filter((site) => of(site).length === 0),
    criticalOnly: heard.filter((site) => of(site).every(({ severity }) => severity === 'critical')),
  };
}

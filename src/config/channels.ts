/** The channels for people that settings name: that of the variable, and those of the file. */

import type { ChannelRule } from '../domain/incidents/audience.ts';
import { suggestion } from './kinds/nearest.ts';
import { PEOPLE_KIND_NAMES, PEOPLE_KINDS, type PeopleKind } from './kinds/people-kinds.ts';
import type { FileSettings } from './schema/file-schema.ts';
import type { ChannelSettings, Settings } from './settings.ts';
import type { Environment } from './sources/environment.ts';

/** The channel of SLACK_WEBHOOK_URL. */
export const DEFAULT_CHANNEL = 'default';

type Named = Pick<ChannelSettings, 'kind' | 'name'>;
type ChannelsOf = Pick<Settings, 'channels'>;

/** The subscriber that a channel is; no other one can be named so. */
export function channelSubscriber({ kind, name }: Named): string {
  return name === DEFAULT_CHANNEL ? `@${kind}` : `@${kind}-${name}`;
}

/** How a channel is called where its kind is not clear: `slack`, `slack ops`. */
export function channelTitle({ kind, name }: Named): string {
  return name === DEFAULT_CHANNEL ? kind : `${kind} ${name}`;
}

/** Which alerts each channel wants, by its subscriber's name. */
export function channelRules({ channels }: ChannelsOf): ChannelRule[] {
  return channels.map(({ sites, severity, stuck, paidTwice, ...channel }) => ({
    name: channelSubscriber(channel),
    sites,
    severity,
    stuck,
    paidTwice,
    onlyIncidents: PEOPLE_KINDS[channel.kind].showsPresent ?? false,
  }));
}

/** How many messages an hour each channel gets at most, by its subscriber's name; those without a limit are missing. */
export function channelCeilings({ channels }: ChannelsOf): ReadonlyMap<string, number> {
  return new Map(
    channels.flatMap((channel) => (channel.maxPerHour === null ? [] : [[channelSubscriber(channel), channel.maxPerHour]])),
  );
}

/** Where a channel's address is set, for sentences about it. */
export function channelSetting({ origins }: Pick<Settings, 'origins'>, { kind, name }: Named): string {
  const { variable } = PEOPLE_KINDS[kind];
  const isVariable = variable !== null && name === DEFAULT_CHANNEL && origins.has(variable);
  return isVariable ? variable : addressSetting({ kind, name });
}

/** The path of a channel's address in the file. */
export function addressSetting({ kind, name }: Named): string {
  return `${kind}.channels.${name}.${PEOPLE_KINDS[kind].address ?? 'webhookUrl'}`;
}

/** Where a channel's messages go, as a text: a secret. A mail server alone says nothing of who gets them. */
export function channelAddress(channel: ChannelSettings): string {
  return channel.kind === 'email' ? `${channel.webhookUrl} ${channel.to.toSorted().join()}` : channel.webhookUrl;
}

/** Settings of all channels, from the section `slack` and from the variable of the dead man's switch. */
export function slackSettings(
  { channels: _channels, ...section }: FileSettings['slack'],
  environment: Environment,
  problems: string[],
): Settings['slack'] {
  const deadMansSwitch = environment.read('DEAD_MANS_SWITCH_URL', problems);
  return { ...section, deadMansSwitch: environment.isSet('DEAD_MANS_SWITCH_URL') ? deadMansSwitch : section.deadMansSwitch };
}

/** Makes the channels of the file's sections and of the variable; their problems are listed. */
export function channelSettings(
  sections: Pick<FileSettings, PeopleKind>,
  environment: Environment,
  problems: string[],
): ChannelSettings[] {
  const { maxPerHour, stuck, paidTwice } = sections.slack;
  const url = environment.read('SLACK_WEBHOOK_URL', problems);
  if (environment.isSet('SLACK_WEBHOOK_URL') && DEFAULT_CHANNEL in sections.slack.channels) {
    problems.push(
      `slack.channels.${DEFAULT_CHANNEL}: SLACK_WEBHOOK_URL makes a channel of the same name; keep one of them, or rename this one`,
    );
  }
  const everything = { sites: null, severity: 'warning', maxPerHour, stuck, paidTwice } as const;
  const ofVariable: ChannelSettings[] =
    url === null ? [] : [{ kind: 'slack', name: DEFAULT_CHANNEL, webhookUrl: url, ...everything }];
  const ofFile = PEOPLE_KIND_NAMES.flatMap((kind) =>
    Object.entries(sections[kind].channels)
      .toSorted(([one], [other]) => rank(one) - rank(other))
      .map(([name, each]): ChannelSettings => {
        const { isLimited, showsPresent = false } = PEOPLE_KINDS[kind];
        // For some kinds the file has no such settings.
        const own: Partial<FileSettings['slack']['channels'][string]> = each;
        const { smtpUrl, ...rest } = { smtpUrl: own.webhookUrl, ...each };
        return {
          kind,
          name,
          ...rest,
          webhookUrl: smtpUrl,
          sites: each.sites ?? null,
          stuck: showsPresent ? 'incidents' : (own.stuck ?? stuck),
          paidTwice: !showsPresent && (own.paidTwice ?? paidTwice),
          maxPerHour: isLimited ? (own.maxPerHour ?? maxPerHour) : null,
        } as ChannelSettings;
      }),
  );
  return [...ofVariable, ...ofFile];
}

function rank(name: string): number {
  return name === DEFAULT_CHANNEL ? 0 : 1;
}

/** Problems between channels, or between channels and sites. */
export function channelProblems(channels: readonly ChannelSettings[], siteNames: readonly string[]): string[] {
  return channels.flatMap((channel, place) => {
    const { kind, name, sites } = channel;
    const at = `${kind}.channels.${name}`;
    const isTwin = (other: ChannelSettings): boolean => channelAddress(other) === channelAddress(channel);
    const twin = channels.slice(0, place).find(isTwin);
    return [
      ...(twin === undefined
        ? []
        : [
            `${addressSetting(channel)}: is the address (not shown) of channel ${twin.name}, too, which would get everything twice; give this one another address, or join the two`,
          ]),
      ...(sites?.length === 0
        ? [`${at}.sites: is empty, so the channel would get nothing; name sites, or leave it out for all`]
        : []),
      ...unknownSites(at, sites, siteNames),
    ];
  });
}

/** A line for each site that something names and that does not exist. */
export function unknownSites(at: string, sites: readonly string[] | null, siteNames: readonly string[]): string[] {
  const known = siteNames.length === 0 ? 'there are no sites' : `known: ${siteNames.join(', ')}`;
  return (sites ?? []).flatMap((site, index) =>
    siteNames.includes(site)
      ? []
      : `${at}.sites[${index}]: ${JSON.stringify(site)} is not a site${suggestion(site, siteNames)}; ${known}`,
  );
}

/** Sites without a channel, and those with channels for critical incidents alone; none where there is no channel at all. */
export function sitesWithoutChannel({ channels, sites }: Pick<Settings, 'channels' | 'sites'>): {
  readonly silentSites: readonly string[];
  readonly criticalOnly: readonly string[];
} {
  const of = (site: string): ChannelSettings[] => channels.filter((each) => each.sites?.includes(site) ?? true);
  const names = channels.length === 0 ? [] : sites.map(({ name }) => name);
  const alerted = names.filter((site) => of(site).length > 0);
  return {
    silentSites: names.filter((site) => of(site).length === 0),
    criticalOnly: alerted.filter((site) => of(site).every(({ severity }) => severity === 'critical')),
  };
}

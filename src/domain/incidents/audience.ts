/** Which channels are alerted of an incident. Pure. */
import { type Incident, type Level, levelOf } from './incident.ts';

/** When a stuck checkout alerts people by itself: while no share can be judged, always, or never. */
export const STUCK_MODES = ['auto', 'each', 'incidents'] as const;
export type StuckMode = (typeof STUCK_MODES)[number];

/** Which alerts a channel for people wants. */
export interface ChannelRule {
  readonly name: string;
  /** Null: of all sites, and of what is of no site. */
  readonly sites: readonly string[] | null;
  /** The least urgent alert that the channel wants. */
  readonly severity: Level;
  /** When the channel is alerted of single stuck checkouts; `auto` unless given. */
  readonly stuck?: StuckMode;
  /** Whether the channel is alerted of orders that were paid twice; true by default. */
  readonly paidTwice?: boolean;
  /** The channel gets neither digests nor first looks; false by default. */
  readonly onlyIncidents?: boolean;
  /** The channel takes nothing at present; false by default. */
  readonly isDeaf?: boolean;
}

/** When single stuck checkouts alert a channel. */
export function modeOf({ stuck = 'auto' }: Pick<ChannelRule, 'stuck'>): StuckMode {
  return stuck;
}

/**
 * The channels whose rules match an incident of some sites. What is of no site goes to channels for all sites, or where
 * there is none, to every channel. Where none of those takes messages, the others get the alert, too: at least one channel must.
 */
export function audienceOf(
  incident: Pick<Incident, 'kind' | 'severity' | 'subscriber'>,
  sites: readonly string[],
  channels: readonly ChannelRule[],
): string[] {
  const urgent = levelOf(incident) === 'critical';
  const loud = channels.filter(({ severity, name }) => (urgent || severity === 'warning') && name !== incident.subscriber);
  const general = loud.filter((channel) => channel.sites === null);
  const concerned = loud.filter((channel) => channel.sites === null || channel.sites.some((site) => sites.includes(site)));
  const ofNoSite = general.length > 0 ? general : loud;
  const matching = sites.length > 0 ? concerned : ofNoSite;
  const isTaken = matching.length === 0 || matching.some(({ isDeaf }) => !isDeaf);
  const others = isTaken ? [] : channels.filter((each) => !each.isDeaf && each.name !== incident.subscriber);
  return [...matching, ...others].map(({ name }) => name);
}

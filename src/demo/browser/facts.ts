/** Facts of the daemon, the shop and Slack, for the bar and for the steps that follow a switch. */

import type { IncidentBody } from '../../api/incidents/fields.ts';
import type { OverviewBody } from '../../api/overview/overview.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { timeoutSignal } from '../../runtime/time.ts';
import type { Arrival } from '../cast/shop.ts';
import type { SlackPost } from '../cast/slack.ts';

/** The daemon's overview and open incidents now; null and none while the daemon answers nothing. */
export interface DaemonFacts {
  readonly overview: OverviewBody | null;
  readonly incidents: readonly IncidentBody[];
}

/** The daemon's facts, with webhooks and messages to Slack since a moment. */
export interface Seen extends DaemonFacts {
  /** Webhooks that the shop got since that moment. */
  readonly arrivals: readonly Arrival[];
  readonly posts: readonly SlackPost[];
}

export const SILENT: DaemonFacts = { overview: null, incidents: [] };

/** A dead daemon refuses the connection at once; a daemon on a full machine may take seconds. */
const PATIENCE: Milliseconds = 10_000;

/** Asks the daemon's API with the machine's key; never throws. */
export async function readFacts(daemonUrl: string, key: string): Promise<DaemonFacts> {
  const read = async <Body>(path: string): Promise<Body> => {
    const response = await fetch(daemonUrl + path, {
      headers: { authorization: `Bearer ${key}` },
      signal: timeoutSignal(PATIENCE),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return (await response.json()) as Body;
  };
  try {
    const [overview, incidents] = await Promise.all([
      read<OverviewBody>('/v1/overview'),
      read<{ data: IncidentBody[] }>('/v1/incidents?status=open&limit=20'),
    ]);
    return { overview, incidents: incidents.data };
  } catch {
    return SILENT;
  }
}

/** The shop as the daemon sees the shop; null while the daemon answers nothing. */
export function shopOf({ overview }: DaemonFacts): OverviewBody['subscribers'][number] | null {
  return overview?.subscribers.find(({ name }) => name === 'shop') ?? null;
}

/** How many deliveries wait for the shop; null while the daemon answers nothing. */
export function waitingOf(facts: DaemonFacts): number | null {
  const shop = shopOf(facts);
  return shop === null ? null : shop.waiting.pending + shop.waiting.parked;
}

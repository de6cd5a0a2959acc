/** What a rehearsal takes of the settings. */

import { channelRules, channelSubscriber, DEFAULT_CHANNEL } from '../../config/channels.ts';
import type { AlertSettings } from '../../config/rehearsed.ts';
import type { AlertRules } from './rehearse.ts';

/** The rules of these settings. Without any channel a rehearsal would show no alert, so one that gets every alert is made up. */
export function alertRules({ policy, slack, channels }: AlertSettings): AlertRules & { readonly invented: boolean } {
  const rules = channelRules({ channels });
  if (rules.length > 0) return { policy, alerts: slack, channels: rules, invented: false };
  const name = channelSubscriber({ kind: 'slack', name: DEFAULT_CHANNEL });
  const { stuck, paidTwice } = slack;
  return { policy, alerts: slack, channels: [{ name, sites: null, severity: 'warning', stuck, paidTwice }], invented: true };
}

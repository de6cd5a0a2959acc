/** Rehearsing the alerts of some settings, beside those of the present ones. */

import { channelRules, channelSubscriber, DEFAULT_CHANNEL } from '../../config/channels.ts';
import { type AlertSettings, changedSettings, shownAlertSettings } from '../../config/rehearsed.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { type RehearsalAsked, rehearsalBody } from './body.ts';
import { type AlertRules, type RehearseOptions, rehearse } from './rehearse.ts';

type Wanted = Omit<RehearsalAsked, 'invented' | 'settings' | 'changed'> & Pick<RehearseOptions, 'bounds' | 'onProgress'>;

/**
 * Rehearses settings on a past time, and answers the result as its body. `isCompared`: whether the present settings are rehearsed, too;
 * by default where others are tried.
 */
export async function rehearseSettings(
  sql: Sql,
  { present, tried, isCompared }: { present: AlertSettings; tried: AlertSettings; isCompared?: boolean },
  wanted: Wanted,
) {
  const settings = shownAlertSettings(tried);
  const changed = changedSettings(shownAlertSettings(present), settings);
  const { invented, ...rules } = alertRules(tried);
  const beside = (isCompared ?? changed.length > 0) ? alertRules(present) : null;
  const rehearsed = await rehearse(sql, { ...rules, ...wanted, silences: !wanted.ignoreSilences, present: beside });
  return rehearsalBody(rehearsed, { ...wanted, invented, settings, changed });
}

/** The rules of these settings. Without any channel a rehearsal would show no alert, so one that gets every alert is made up. */
function alertRules({ policy, slack, channels }: AlertSettings): AlertRules & { readonly invented: boolean } {
  const rules = channelRules({ channels });
  if (rules.length > 0) return { policy, alerts: slack, channels: rules, invented: false };
  const name = channelSubscriber({ kind: 'slack', name: DEFAULT_CHANNEL });
  const { stuck, paidTwice } = slack;
  return { policy, alerts: slack, channels: [{ name, sites: null, severity: 'warning', stuck, paidTwice }], invented: true };
}

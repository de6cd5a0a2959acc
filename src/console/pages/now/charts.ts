/** What was done in each minute of the last hour: polls, those that failed, lag, and deliveries. */
import type { ActivityMinute } from '../../../api/health/activity.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import { clockTime, length } from '../../parts/time.ts';
import { chart } from '../../pictures/chart.ts';

/** Minutes that are asked for: the present one is not over, so it is not shown. */
export const MINUTES_ASKED = 61;

/** Four figures; `site`: whose polls they are, null: all. */
export function activityCharts(asked: readonly ActivityMinute[], site: string | null): Html {
  const minutes = asked.slice(0, -1);
  const last = minutes.at(-1)!;
  const times = minutes.map(({ at }) => clockTime(Date.parse(at)).slice(0, 5));
  const sum = (value: (minute: ActivityMinute) => number): number => minutes.reduce((total, minute) => total + value(minute), 0);
  const [polls, failed, delivered, refused] = [
    sum((minute) => minute.polls),
    sum((minute) => minute.failedPolls),
    sum((minute) => minute.delivered),
    sum((minute) => minute.failedAttempts),
  ];
  const lags = minutes.map(({ greatestLagMs }) => greatestLagMs);
  const greatest = Math.max(...lags.map((lag) => lag ?? 0));
  const { greatestLagMs: lag } = last;
  return html`<section class="panel" aria-label="The last hour by the minute"><div class="charts">${[
    chart({
      ...{ title: 'Polls a minute', now: number(last.polls), kind: 'line', times },
      values: minutes.map((minute) => minute.polls),
      says: `${number(polls)} in the hour${site === null ? '' : `, of ${site}`}`,
    }),
    chart({
      ...{ title: 'Polls without an answer', now: number(last.failedPolls), kind: 'bad', times },
      values: minutes.map((minute) => minute.failedPolls),
      says: failed === 0 ? 'none in the hour' : `${number(failed)} of ${number(polls)}; each is asked again`,
    }),
    chart({
      ...{ title: 'Polled late by, at most', now: lag === null ? 'no poll' : length(lag), kind: 'line', times },
      ...{ values: lags, valueText: length },
      says: polls === 0 ? 'no poll in the hour' : tied(`at most ${length(greatest)} in the hour`),
    }),
    chart({
      ...{ title: 'Events delivered, a minute', now: number(last.delivered), kind: 'good', times },
      values: minutes.map((minute) => minute.delivered),
      says: `${number(delivered)} in the hour; ${refused === 0 ? 'no attempt failed' : `${number(refused)} attempts failed`}`,
    }),
  ]}</div></section>`;
}

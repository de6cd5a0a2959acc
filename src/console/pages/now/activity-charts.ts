/** Charts of each minute of the last hour: polls, those that failed, lag, and deliveries. */
import type { ActivityMinute, ActivityUsual } from '../../../api/flow/activity.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import { clockTime, length } from '../../parts/time.ts';
import { chart } from '../../pictures/minute-chart.ts';
import { lengthAxis } from '../../pictures/scale.ts';

/** Minutes that Now asks for: the present one is not over, so it is not shown. */
export const MINUTES_ASKED = 61;

/** Failures are drawn on at least this share of all polls: two of 142 000 are a line, and no red bar. */
const FAILED_SCALE = 0.05;

/** The data of the charts, as the API answers them. */
export interface ActivityAnswer {
  readonly minutes: readonly ActivityMinute[];
  readonly usual: ActivityUsual;
  /** Whose polls they are; null: all. */
  readonly site: string | null;
}

/** Four figures and their table of whole minutes; `hour` names their time. */
export function activityCharts({ minutes, usual, site }: ActivityAnswer, hour = 'The last hour'): Html {
  const last = minutes.at(-1)!;
  const times = minutes.map(({ at }) => clockTime(Date.parse(at)).slice(0, 5));
  const of = (key: 'polls' | 'failedPolls' | 'delivered' | 'failedAttempts'): number[] => minutes.map((minute) => minute[key]);
  const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  const polls = total(of('polls'));
  const failed = total(of('failedPolls'));
  const refused = total(of('failedAttempts'));
  const lags = minutes.map(({ greatestLagMs }) => greatestLagMs);
  const greatest = Math.max(...lags.map((lag) => lag ?? 0));
  const { greatestLagMs: lag } = last;
  const most = Math.max(...of('polls'));
  const figures = [
    chart({
      title: 'Polls a minute',
      now: number(last.polls),
      kind: 'line',
      times,
      values: of('polls'),
      usual: usual.polls,
      says: `${number(polls)} in the hour${site === null ? '' : `, of ${site}`}`,
    }),
    chart({
      title: 'Polls without an answer',
      now: number(last.failedPolls),
      kind: 'bad',
      times,
      values: of('failedPolls'),
      usual: usual.failedPolls,
      least: most * FAILED_SCALE,
      says:
        failed === 0
          ? 'none in the hour'
          : tied(`${number(failed)} of ${number(polls)}, each asked again; the scale goes to 5 % of all at least`),
    }),
    chart({
      title: 'Polled late by, at most',
      now: lag === null ? 'no poll' : length(lag),
      kind: 'line',
      times,
      values: lags,
      usual: usual.greatestLagMs,
      valueText: length,
      axisFor: lengthAxis,
      says: polls === 0 ? 'no poll in the hour' : tied(`at most ${length(greatest)} in the hour`),
    }),
    chart({
      title: 'Events delivered, a minute',
      now: number(last.delivered),
      kind: 'good',
      times,
      values: of('delivered'),
      usual: usual.delivered,
      says: `${number(total(of('delivered')))} in the hour; ${refused === 0 ? 'no attempt failed' : `${number(refused)} attempts failed`}`,
    }),
  ];
  return html`<section class="panel" aria-label="${hour} by the minute"><div class="charts">${figures}</div>${table(minutes, { times, hour })}</section>`;
}

function table(minutes: readonly ActivityMinute[], { times, hour }: { times: readonly string[]; hour: string }): Html {
  const row = ({ polls, failedPolls, greatestLagMs, delivered, failedAttempts }: ActivityMinute, place: number): Html =>
    html`<tr><th scope="row">${times[place]}</th><td class="num">${number(polls)}</td><td class="num">${number(failedPolls)}</td><td class="num">${greatestLagMs === null ? 'no poll' : length(greatestLagMs)}</td><td class="num">${number(delivered)}</td><td class="num">${number(failedAttempts)}</td></tr>`;
  return html`<details class="same" id="activity-table"><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="${hour} as a table"><table><thead><tr><th scope="col">Minute</th><th scope="col" class="num">Polls</th><th scope="col" class="num">Without an answer</th><th scope="col" class="num">Late by, at most</th><th scope="col" class="num">Delivered</th><th scope="col" class="num">Attempts failed</th></tr></thead><tbody>${minutes.map(row).toReversed()}</tbody></table></div></details>`;
}

/** Money of customers who were stuck, and attempts of deliveries. */
import type { Trends } from '../../../actions/trends/trends.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import { panel } from '../../parts/lists.ts';
import { dayName, length } from '../../parts/time.ts';
import { daysBar, partsBar } from '../../pictures/trends/bars.ts';
import { figure, moneyText, percent, type ShownTrends } from './figures.ts';

type Money = Trends['money'][number];

const FEWEST = 30;

/** Money that waited beyond the limit, by currency. */
export function moneyPanel(shown: ShownTrends): Html {
  const rows = shown.trends.money.filter(({ stuck }) => stuck.purchases > 0);
  if (rows.length === 0) return NOTHING;
  return panel({
    id: 'money',
    title: 'Money of customers who got stuck',
    note: 'of purchases that waited beyond the limit; each currency by itself, nothing is converted',
    body: html`<table class="cards halves"><thead><tr><th scope="col">Currency</th><th scope="col" class="num">Purchases</th><th scope="col">What became of it</th><th scope="col" class="num">Paid late</th><th scope="col" class="num">By another purchase</th><th scope="col" class="num">Not paid</th></tr></thead><tbody>${rows.map((row) => moneyRow(shown, row))}</tbody></table>`,
    foot: html`<div class="legend"><span><i class="k late"></i>paid late</span><span><i class="k paid"></i>paid by another purchase of the order</span><span><i class="k lost"></i>not paid</span><span><i class="k open"></i>still open when the daemon stopped polling</span></div>`,
  });
}

function moneyRow(shown: ShownTrends, { currency, stuck }: Money): Html {
  const { purchases, gone, paid, paidByAnother, notPaid, open } = stuck;
  const amounts = [paid, paidByAnother, notPaid, open].map((amount) =>
    Number(String((amount as { rawJSON?: string }).rawJSON ?? amount)),
  );
  const [late = 0, other = 0, lost = 0, left = 0] = amounts;
  const all = late + other + lost + left;
  const bar = partsBar(
    [
      ['late', late],
      ['paid', other],
      ['lost', lost],
      ['open', left],
    ],
    all,
  );
  const of = (end: 'paid' | 'paid_by_another' | 'not_paid', amount: unknown, value: number): Html =>
    figure(shown, { end, wasStuck: true, currency }, { count: value, gone }, moneyText(amount, currency));
  return html`<tr><th scope="row">${currency}</th><td class="num" data-l="purchases">${figure(shown, { end: 'counted', wasStuck: true, currency }, { count: purchases, gone })}</td><td class="pic less">${purchases < FEWEST ? html`<span class="mute">too few to say</span>` : bar}</td><td class="num" data-l="paid late">${of('paid', paid, late)}</td><td class="num" data-l="by another">${of('paid_by_another', paidByAnother, other)}</td><td class="num" data-l="not paid">${of('not_paid', notPaid, lost)}</td></tr>`;
}

/** Attempts at each receiver, and its worst day. */
export function receiversPanel({ ask, trends: { receivers, range } }: ShownTrends): Html {
  if (receivers.length === 0) return NOTHING;
  const row = ({ subscriber, attempts, failed, medianMs, p95Ms, days }: Trends['receivers'][number]): Html => {
    const share = attempts < FEWEST ? null : (attempts - failed) / attempts;
    const took = (ms: number | null): string => (ms === null ? 'none taken' : length(ms));
    const worst = days.reduce((one, other) => (other.failed > one.failed ? other : one));
    const day =
      failed === 0
        ? html`<span class="mute">no attempt failed</span>`
        : html`${range === '24h' ? '' : `${dayName(Date.parse(worst.from))}: `}${number(worst.failed)} of ${number(worst.attempts)} failed`;
    return html`<tr><th scope="row"><a href="${ask.base}/subscribers/${encodeURIComponent(subscriber)}"><bdi class="clip" title="${subscriber}">${subscriber}</bdi></a></th><td class="num" data-l="attempts">${number(attempts)}</td><td class="pic less">${daysBar(days)}</td><td class="num" data-l="taken">${percent(share)}</td><td class="num" data-l="half within">${took(medianMs)}</td><td class="num" data-l="95 % within">${took(p95Ms)}</td><td class="full" data-l="worst day">${day}</td></tr>`;
  };
  return panel({
    id: 'receivers',
    title: 'Receivers',
    note: 'attempts of deliveries: how many were taken, and how long an answer took',
    body: html`<table class="cards halves"><thead><tr><th scope="col">Receiver</th><th scope="col" class="num">Attempts</th><th scope="col">By day</th><th scope="col" class="num">Taken</th><th scope="col" class="num">Half within</th><th scope="col" class="num">95 % within</th><th scope="col">${range === '24h' ? 'Failed' : 'Worst day'}</th></tr></thead><tbody>${receivers.map(row)}</tbody></table>`,
    foot: html`<div class="legend"><span><i class="k taken"></i>taken</span><span><i class="k bad"></i>failed; the daemon tries each again</span></div>`,
  });
}

/** The steps to the first purchase, in place of charts before it: each with how it is now and what to do next. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel } from '../../parts/lists.ts';
import { isForPeople } from '../../parts/receivers.ts';

/** The checklist of a product without a purchase. */
export function checklist(overview: OverviewBody, ask: Ask): Html {
  const item = ({ isDone, title, says }: ReturnType<typeof stepsOf>[number]): Html =>
    html`<li>${icon(isDone ? 'ok' : 'waiting', isDone ? 'ok' : 'waiting')}<div class="what"><b>${title}</b><span class="vh">${isDone ? ', done' : ', to do'}</span><p>${says}</p></div></li>`;
  return panel({
    id: 'begin',
    title: 'To begin',
    note: 'the map and the charts come with the first purchase',
    body: html`<ol class="needs">${stepsOf(overview, ask).map(item)}</ol>`,
  });
}

function stepsOf({ sites, subscribers, replicas }: OverviewBody, { base, origin }: Ask) {
  const configured = sites.filter((site) => site.configured);
  const failing = configured.filter(({ answers }) => !answers).length;
  const channels = subscribers.filter(isForPeople).length;
  const systems = subscribers.length - channels;
  return [
    {
      isDone: replicas.length > 0,
      title: 'A daemon runs',
      says:
        replicas.length > 0
          ? `${counted(replicas.length, 'replica')} on this database.`
          : html`Start it: <code>purchase-watch start</code>`,
    },
    {
      isDone: configured.length > 0 && failing === 0,
      title: 'A site is configured',
      says:
        configured.length === 0
          ? html`Set <code>CHECKOUT_BASE_URL</code>, or <code>sites</code> in the settings file.`
          : html`${counted(configured.length, 'site')}${failing === 0 ? '' : `, of which ${failing} cannot be read`}. Credentials are tried by <a href="${base}/system">doctor</a>.`,
    },
    {
      isDone: channels > 0,
      title: 'People are alerted',
      says:
        channels === 0
          ? html`Nobody is alerted until <a href="${base}/channels">a channel is set</a>.`
          : html`${counted(channels, 'channel')}: <a href="${base}/channels">send a test message</a>.`,
    },
    {
      isDone: systems > 0,
      title: 'Systems get the events',
      says:
        systems === 0
          ? html`<a href="${base}/subscribers">Add a subscriber</a>, or read <a href="${base}/docs/http-api.html#event-feed">the feed</a>.`
          : html`${counted(systems, 'subscriber')}: <a href="${base}/subscribers">send a test event</a>.`,
    },
    {
      isDone: false,
      title: 'A purchase is watched',
      says: html`Register one: <code>npx purchase-watch watch &lt;purchase id&gt;</code>, or <code>curl -X POST ${origin}/v1/purchases -H 'content-type: application/json' -d '{"purchaseId": "…"}'</code>, or <a href="${base}/purchases/register">paste ids</a>.`,
    },
  ];
}

/** Systems that get events: how each is, how far behind, and what it gets; and adding one. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SubscriberBody } from '../../../api/subscribers/fields.ts';
import type { AddedSubscriberBody } from '../../../api/subscribers/subscribers.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Listed, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import type { Tried } from '../../parts/fields.ts';
import { flash, nothingHere, panel, written } from '../../parts/lists.ts';
import { healthMark, isForPeople, listText, type Receiver } from '../../parts/receivers.ts';
import { since } from '../../parts/time.ts';
import { addForm, newSubscriber } from './add-form.ts';
import { secretView } from './secret.ts';

const PAGE_SIZE = 100;

export const subscriberListPages = [
  page('/subscribers', (ask) => view(ask, { values: {}, refusal: null })),
  action('/subscribers', async (ask) => {
    try {
      const added = await ask.api.send<AddedSubscriberBody>('POST', '/v1/subscribers', newSubscriber(ask.form));
      return secretView(ask, { name: added.name, secret: added.secret, reason: 'added' });
    } catch (error) {
      return view(ask, { values: ask.form, refusal: refusalIn(error) });
    }
  }),
];

async function view(ask: Ask, tried: Tried): Promise<View> {
  const { api, base, query, mayOperate } = ask;
  const [overview, found] = await Promise.all([
    api.get<OverviewBody>('/v1/overview'),
    api.get<Listed<SubscriberBody>>('/v1/subscribers', {
      limit: PAGE_SIZE,
      cursor: tried.refusal === null ? query.cursor : null,
    }),
  ]);
  const receivers = new Map(overview.subscribers.map((each) => [each.name, each]));
  // A subscriber in trouble comes before the others.
  const systems = found.data
    .filter((each) => !isForPeople(each))
    .toSorted((a, b) => Number(a.health.status === 'ok') - Number(b.health.status === 'ok'));
  const add = mayOperate
    ? html`<section class="panel" aria-label="Add a subscriber"><details id="add"${tried.refusal !== null && html` open`}><summary>Add a subscriber</summary>${addForm(ask, overview, tried)}</details></section>`
    : html`<p class="small">A key with the scope operate can add subscribers.</p>`;
  const done = query.done === 'removed' && flash('The subscriber was removed. What waited for it is never sent.');
  const foot =
    found.nextCursor !== null && html`<a href="${base}/subscribers?cursor=${found.nextCursor}" rel="next">Later ones</a>`;
  const body = html`<div class="head"><h1 class="say">${tied(sentence(overview))}</h1><p class="sub">Subscribers are systems that get signed webhooks or messages of a broker. People are alerted in <a href="${base}/channels">channels</a>.</p></div>
<div class="stack">${done}${panel({
    id: 'subscribers',
    title: 'Subscribers',
    body: systems.length === 0 ? empty(ask) : table(systems, receivers, ask),
    foot,
  })}${add}</div>`;
  const refused = tried.refusal === null ? {} : { status: tried.refusal.status, isLive: false };
  return { title: 'Subscribers', place: 'subscribers', crumb: 'Subscribers', body, ...refused };
}

function sentence({ subscribers }: OverviewBody): string {
  const systems = subscribers.filter((each) => !isForPeople(each));
  if (systems.length === 0) return 'No system gets events yet.';
  const troubled = systems.filter(({ health }) => health.status !== 'ok');
  if (troubled.length === 0)
    return `${systems.length === 1 ? `${systems[0]!.name} takes` : `All ${systems.length} subscribers take`} what is sent.`;
  const names = troubled.slice(0, 5).map(({ name, health }) => `${name} is ${health.status}`);
  const more = troubled.length > 5 ? ` and ${troubled.length - 5} more` : '';
  return `${troubled.length} of ${counted(systems.length, 'subscriber')} ${troubled.length === 1 ? 'needs' : 'need'} somebody: ${names.join(', ')}${more}.`;
}

function table(systems: readonly SubscriberBody[], receivers: ReadonlyMap<string, Receiver>, { base, now }: Ask): Html {
  const row = ({ name, kind, url, types, sites, description, health }: SubscriberBody): Html => {
    const waiting = receivers.get(name)?.waiting;
    const most = waiting?.atLeast && html`<small>or more</small>`;
    const lag = waiting?.dueSince === null || waiting === undefined ? 'none' : since(waiting.dueSince, now);
    return html`<tr id="row-${name}"><th scope="row"><a href="${base}/subscribers/${encodeURIComponent(name)}">${name}</a>${description !== null && html`<small>${written(description)}</small>`}</th>
<td>${healthMark({ health })}</td><td class="num" data-l="lag">${lag}</td><td class="num" data-l="waiting">${number((waiting?.pending ?? 0) + (waiting?.inFlight ?? 0))}${most}</td><td class="num" data-l="parked">${number(waiting?.parked ?? 0)}</td>
<td class="hide kind">${kind}<small>${url === null ? 'address not known here' : written(url)}</small></td><td class="wide mid">${listText(types, 'all types')}<small>${listText(sites, 'all sites')}</small></td></tr>`;
  };
  return html`<table class="cards fits"><thead><tr><th scope="col">Name</th><th scope="col">Health</th><th scope="col" class="num">Lag</th><th scope="col" class="num">Waiting</th><th scope="col" class="num">Parked</th><th scope="col">Kind</th><th scope="col" class="mid">Gets</th></tr></thead><tbody data-still>
${systems.map(row)}</tbody></table>`;
}

function empty({ origin, mayOperate, caller }: Ask): Html {
  const key = caller.key === null ? ' -H @.purchase-watch/authorization' : ' -H "authorization: Bearer $API_KEY"';
  const here = mayOperate ? 'Add one below, or by the API:' : 'Somebody with the scope operate adds one here, or by the API:';
  return nothingHere(
    'Each system that gets events will be a line here, with its health and what waits for it. Until then events are kept in the feed, which any program may read.',
    here,
    html`<span class="copy"><pre id="add-example" tabindex="0"><code>curl ${origin}/v1/subscribers${key} -H 'content-type: application/json' \\
  -d '{"name": "shop", "url": "https://shop.example/hooks"}'</code></pre><button class="btn" type="button" data-copy="add-example">Copy<span class="vh"> the example</span></button></span>`,
  );
}

/** Sites, subscribers, channels and replicas in one strip, each with its state in words. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { NO_CHANNEL } from '../../../domain/explain/standing.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, number, tied } from '../../frame/html.ts';
import { status } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { panel, written } from '../../parts/lists.ts';
import { healthMark, isForPeople } from '../../parts/receivers.ts';
import { siteMark } from '../../parts/sites.ts';
import { when } from '../../parts/time.ts';

const MOST_LISTED = 8;

type Subscriber = OverviewBody['subscribers'][number];

export function healthStrip({ sites, subscribers, replicas }: OverviewBody, { base, now }: Ask): Html {
  const site = (each: OverviewBody['sites'][number]): Html =>
    html`<li><span>${siteMark(each)} <a href="${base}/sites/${encodeURIComponent(each.site)}">${written(each.site)}</a></span><span>${!each.answers || each.lastAnswerAt === null ? '' : when(each.lastAnswerAt, now)}</span></li>`;
  const subscriber = (each: Subscriber, path: string): Html =>
    html`<li><span>${healthMark(each)} <a href="${base}${path}">${written(each.name)}</a></span><span>${waitingText(each)}</span></li>`;
  const replica = ({ id, shards }: OverviewBody['replicas'][number]): Html =>
    html`<li><span>${status('ok', 'runs')} <bdi class="id clip" title="${id}">${id}</bdi></span><span>${tied(`${shards} of 64`)} shards</span></li>`;
  const isFor = (audience: 'systems' | 'people') =>
    subscribers
      .filter((each) => isForPeople(each) === (audience === 'people'))
      .toSorted(byTrouble(({ health }) => health.status === 'ok'));
  const list = (items: readonly Html[], none: Html | string, all = ''): Html => {
    if (items.length === 0) return html`<p class="mute">${none}</p>`;
    const rest = items.length - MOST_LISTED;
    const more = rest > 0 && html`<li><a href="${base}${all}">and ${number(rest)} more</a></li>`;
    return html`<ul>${items.slice(0, MOST_LISTED)}${more}</ul>`;
  };
  const shownSites = sites.filter(({ configured, unpolled }) => configured || unpolled > 0).toSorted(byTrouble(isWell));
  const systems = isFor('systems').map((each) => subscriber(each, `/subscribers/${encodeURIComponent(each.name)}`));
  const channels = isFor('people').map((each) => subscriber(each, '/channels'));
  const noSystem = html`No system gets events yet: <a href="${base}/subscribers">add a subscriber</a>.`;
  const noChannel = html`${NO_CHANNEL}. <a href="${base}/channels">How to set a channel</a>`;
  return panel({
    id: 'health',
    title: 'Health',
    body: html`<div class="strip"><div><h3>Sites</h3>${list(shownSites.map(site), 'No site is configured.', '/sites')}</div>
<div><h3>Subscribers</h3>${list(systems, noSystem, '/subscribers')}</div>
<div><h3>Channels</h3>${list(channels, noChannel, '/channels')}</div>
<div><h3>Replicas</h3>${list(replicas.map(replica), status('critical', 'no replica runs'), '/sites')}</div></div>`,
  });
}

/** Items in trouble first, so that a list that is cut leaves out well ones; else as they are. */
function byTrouble<Item>(isFine: (item: Item) => boolean) {
  return (one: Item, other: Item): number => Number(isFine(one)) - Number(isFine(other));
}

const isWell = ({ answers, unpolled }: OverviewBody['sites'][number]): boolean => answers && unpolled === 0;

function waitingText({ waiting: { pending, parked, atLeast } }: Subscriber): string {
  const most = atLeast ? 'at least ' : '';
  if (parked > 0) return tied(`${most}${counted(parked, 'parked', 'parked')}`);
  return pending === 0 ? 'none wait' : tied(`${most}${counted(pending, 'waits', 'wait')}`);
}

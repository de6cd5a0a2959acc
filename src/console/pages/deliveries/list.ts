/** Deliveries to all subscribers and channels, by status, subscriber, purchase and event. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import { DELIVERY_STATUSES } from '../../../domain/deliveries/delivery-status.ts';
import { counted } from '../../../domain/values/counts.ts';
import { sentence as sentenceOf } from '../../../domain/values/sentence.ts';
import { ApiRefusal, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { heldLine, RESUMED } from '../../parts/held.ts';
import { alertNote, flash, nothingHere, panel } from '../../parts/lists.ts';
import { type DeliveryPage, deliveryTable, olderLinks } from './table.ts';

const PAGE_SIZE = 50;

export const deliveryListPages = [
  page('/deliveries', async (ask): Promise<View> => {
    const { api, query } = ask;
    const overview = await api.get<OverviewBody>('/v1/overview');
    const read = await readDeliveries(ask);
    const refusal = read instanceof ApiRefusal ? read : null;
    const found: DeliveryPage = read instanceof ApiRefusal ? { data: [], nextCursor: null } : read;
    const done = query.done === 'resumed' && flash(RESUMED);
    const body = html`${done}<div class="head"><h1 class="say">${tied(sentence(overview))}</h1><p class="sub">A delivery is one event for one subscriber or channel. It keeps its id and bytes however often it is sent.</p>${heldLines(ask, overview)}</div>
<div class="stack">${panel({
      id: 'deliveries',
      title: 'Deliveries',
      note: 'the newest first',
      body: html`<div class="body stack">${filters(ask, overview)}${alertNote(refusal?.message, 'refusal')}</div>${list(ask, found, refusal)}`,
      foot: olderLinks(found, { path: `${ask.base}/deliveries`, query }),
    })}</div>`;
    return {
      title: 'Deliveries',
      place: 'deliveries',
      crumb: 'Deliveries',
      body,
      ...(refusal !== null && { status: refusal.status }),
    };
  }),
];

/** A page of them, or why the filters are refused. */
function readDeliveries({ api, query }: Ask): Promise<DeliveryPage | ApiRefusal> {
  const { status, subscriber, purchase, site, event, cursor } = query;
  const filter = { status, subscriber, purchase, site: purchase && site, event, cursor };
  return api
    .get<DeliveryPage>('/v1/deliveries', { ...filter, limit: PAGE_SIZE })
    .catch((error: unknown) => refusalIn(error, (refusal) => refusal.status === 400));
}

/** Receivers that are named in the headline, and have a line of their own below it. */
const MOST_NAMED = 3;

/** How many wait and for whom: counted, up to 100 000 for each subscriber. */
function sentence({ subscribers }: OverviewBody): string {
  const sum = (of: 'pending' | 'inFlight' | 'parked'): number =>
    subscribers.reduce((total, { waiting }) => total + waiting[of], 0);
  const [waits, parked] = [sum('pending') + sum('inFlight'), sum('parked')];
  const countedTo = (total: number): number | null => (subscribers.some(({ waiting }) => waiting.atLeast) ? total : null);
  if (subscribers.length === 0) return 'Nobody gets events yet, so nothing is delivered.';
  if (waits + parked === 0) return 'Nothing waits: every delivery is settled.';
  const sending = counted(waits, 'delivery waits', 'deliveries wait', countedTo(waits));
  if (parked === 0) return `${sentenceOf(sending)} to be sent. None is parked.`;
  const held = subscribers.filter(({ waiting }) => waiting.parked > 0).map(({ name }) => name);
  const names =
    held.length > MOST_NAMED
      ? `${held.length} receivers get`
      : `${new Intl.ListFormat('en').format(held)} ${held.length === 1 ? 'gets' : 'get'}`;
  const all = counted(parked, 'delivery is', 'deliveries are', countedTo(parked));
  return `${sentenceOf(all)} parked until ${names} events again; ${waits === 0 ? 'no other waits' : `${sending} to be sent`}.`;
}

/** Receivers that get nothing, each with the button that ends it. */
function heldLines(ask: Ask, { subscribers }: OverviewBody): Html {
  const held = subscribers.filter(({ waiting }) => waiting.parked > 0).slice(0, MOST_NAMED);
  return html`${held.map((each) => heldLine(each, ask, { back: '/deliveries', count: 0 }))}`;
}

function filters({ base, query }: Ask, { subscribers }: OverviewBody): Html {
  const option = (value: string, chosen: string | undefined): Html =>
    html`<option value="${value}"${value === chosen && html` selected`}>${value}</option>`;
  return html`<form class="fields" role="search" aria-label="Deliveries" action="${base}/deliveries"><label>Status <select name="status"><option value="">any</option>${DELIVERY_STATUSES.map((each) => option(each, query.status))}</select></label>
<label>To <select name="subscriber"><option value="">all</option>${namesOf(query.subscriber, subscribers).map((each) => option(each, query.subscriber))}</select></label>
<label class="grow">Purchase <input name="purchase" value="${query.purchase ?? ''}" maxlength="200" placeholder="Purchase ID" autocomplete="off"></label>
<label class="grow">Event <input name="event" value="${query.event ?? ''}" maxlength="64" placeholder="evt_…" autocomplete="off"></label>
<button class="btn">Show</button></form>`;
}

/** The subscribers that there are now, and a former one that the address names. */
function namesOf(chosen: string | undefined, subscribers: OverviewBody['subscribers']): string[] {
  const names = subscribers.map(({ name }) => name);
  return chosen === undefined || chosen === '' || names.includes(chosen) ? names : [...names, chosen];
}

function list(ask: Ask, found: DeliveryPage, refusal: ApiRefusal | null): Html {
  if (found.data.length > 0) return deliveryTable(found, ask, { hasSubscriber: true });
  if (refusal !== null) return NOTHING;
  const { cursor: _, ...given } = ask.query;
  const names = Object.entries(given).flatMap(([name, value]) => (value === '' ? [] : [name]));
  if (names.length > 0)
    return nothingHere(
      `No delivery has this ${names.join(', ')}.`,
      html`<a href="${ask.base}/deliveries">Show all deliveries</a>`,
    );
  return nothingHere(
    'Nothing has been delivered yet. Each event for each subscriber will be a line here.',
    html`<a href="${ask.base}/subscribers#add">Add a subscriber</a>, then register a purchase: its first change is an event.`,
  );
}

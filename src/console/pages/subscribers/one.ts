/** A subscriber: how it is and what comes next, its latest attempts and deliveries, what it gets, and what may be done. */

import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SubscriberAttemptsBody } from '../../../api/subscribers/attempts.ts';
import type { DeliveryDetailsBody, SubscriberBody } from '../../../api/subscribers/fields.ts';
import { DELIVERY_STATUSES } from '../../../domain/deliveries/delivery-status.ts';
import { afterFailures } from '../../../domain/deliveries/subscriber-state.ts';
import { stateBoth } from '../../../domain/purchases/states.ts';
import { queryOf, refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, number, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import type { Ask, GoOn, PageRoute } from '../../frame/page-route.ts';
import { page } from '../../frame/page-route.ts';
import { refusalNote } from '../../parts/fields.ts';
import { factsPanel, flash, nothingHere, panel, written } from '../../parts/lists.ts';
import {
  excerptInLine,
  excerptText,
  healthMark,
  isForPeople,
  listText,
  outcomeMark,
  type Receiver,
  took,
} from '../../parts/receivers.ts';
import { when } from '../../parts/time.ts';
import { attemptsPicture } from '../../pictures/attempts.ts';
import { type DeliveryPage, deliveryTable, olderLinks } from '../deliveries/table.ts';
import { mainActions, NOTHING_POSTED, type PostedForm, replayPanel, retryPanel, settingsPanel } from './forms.ts';
import { ladder, outlookOf, sentenceOf, wholeError } from './words.ts';

const PAGE_SIZE = 25;
const MOST_DRAWN = 72;
const MOST_LISTED = 8;

export const subscriberPages: readonly PageRoute[] = [page('/subscribers/:name', (ask) => subscriberView(ask))];

/** The page; `posted` is what a form of it was posted with, and what came of that. */
export async function subscriberView(ask: Ask, posted: PostedForm = NOTHING_POSTED): Promise<View | GoOn> {
  const { api, base, query, params } = ask;
  const path = `/v1/subscribers/${encodeURIComponent(params.name!)}`;
  const [subscriber, overview] = await Promise.all([api.get<SubscriberBody>(path), api.get<OverviewBody>('/v1/overview')]);
  const { name } = subscriber;
  if (isForPeople(subscriber)) return { goTo: `/channels#channel-${name.slice(1)}` };
  const [attempts, deliveries, done] = await Promise.all([
    api.get<SubscriberAttemptsBody>(`${path}/attempts`, { limit: MOST_DRAWN }),
    api.get<DeliveryPage>('/v1/deliveries', {
      subscriber: name,
      status: statusOf(query),
      cursor: query.cursor,
      limit: PAGE_SIZE,
    }),
    doneText(ask, name),
  ]);
  // One that was taken out of the settings stays to be read.
  const receiver = overview.subscribers.find((each) => each.name === name);
  const actions = ask.mayOperate
    ? html`<div class="two even"><div class="stack">${replayPanel(subscriber, ask, posted)}${retryPanel(subscriber, ask, posted)}</div>${settingsPanel({ subscriber, receiver, sites: overview.sites }, ask, posted)}</div>`
    : html`<p class="small">A key with the scope operate can send tests, resume, replay, edit, rotate the secret and remove ${name}.</p>`;
  const body = html`${head(receiver, subscriber, ask)}<div class="stack">${done}${posted.at === 'other' && refusalNote(posted, [])}
<div class="two">${healthPanel(receiver, attempts.data, ask)}${getsPanel(subscriber, ask)}</div>
${deliveryPanel(deliveries, receiver, ask, name)}${actions}</div>`;
  const isPosted = posted !== NOTHING_POSTED;
  return {
    title: `Subscriber ${name}`,
    place: 'subscribers',
    crumb: html`<a href="${base}/subscribers">Subscribers</a> / ${written(name)}`,
    body,
    ...(isPosted && { isLive: false }),
    ...(posted.refusal !== null && { status: posted.refusal.status }),
  };
}

/** The status of deliveries that the address asks for; another word is no filter. */
function statusOf({ status }: Ask['query']): string | undefined {
  return DELIVERY_STATUSES.find((each) => each === status);
}

function head(receiver: Receiver | undefined, { name, statusReason }: SubscriberBody, ask: Ask): Html {
  if (receiver === undefined)
    return html`<div class="head"><h1 class="say">${name} gets nothing any more: the settings do not name it.</h1></div>`;
  const { health } = receiver;
  const until =
    health.status === 'paused' &&
    health.pausedUntil !== null &&
    html` <span class="mute">until ${when(health.pausedUntil, ask.now)}</span>`;
  const whole = { ...receiver, statusReason: receiver.statusReason ?? statusReason };
  const error = wholeError(whole);
  return html`<div class="head"><p>${healthMark(receiver)}${until}</p><h1 class="say">${sentenceOf(whole)}</h1>${error !== null && html`<p class="sub"><bdi>${error}</bdi></p>`}<p class="sub">${outlookOf(receiver, ask.now)}</p>${ask.mayOperate && mainActions(receiver, ask)}</div>`;
}

/** The note about the act that was just done, by the word in the address. */
async function doneText({ api, query, now }: Ask, name: string): Promise<Html> {
  const { done, delivery, count } = query;
  if (done === 'test' && /^dlv_\d{1,16}$/.test(delivery ?? '')) return testText({ api, now }, name, delivery!);
  const many = /^\d{1,9}$/.test(count ?? '') ? number(Number(count)) : 'They';
  const again = `${many} ${count === '1' ? 'delivery is' : 'deliveries are'} scheduled to be sent again, after all that is new.`;
  const text = new Map([
    ['on', `${name} is switched on: what is parked goes out in order.`],
    ['off', `${name} is switched off.`],
    ['changed', `${name} is changed: what happens from now on is sent as it is below.`],
    ['same', `Nothing of ${name} was changed: the form held what it is.`],
    ['resumed', `The pause of ${name} is over: what is parked goes out in order, few at once at first.`],
    ['replay', again],
    ['retry', again],
  ]).get(done ?? '');
  return text === undefined ? NOTHING : flash(text);
}

/** Whether the test arrived; the page is live, so that it says so when it does. */
async function testText({ api, now }: Pick<Ask, 'api' | 'now'>, name: string, id: string): Promise<Html> {
  const test = await api.get<DeliveryDetailsBody>(`/v1/deliveries/${id}`).catch((error: unknown) => {
    refusalIn(error, ({ status }) => status === 404);
    return null;
  });
  if (test === null || test.subscriber !== name) return NOTHING;
  const last = test.attempts.at(-1);
  if (test.status === 'delivered' && last !== undefined)
    return flash(
      html`The test arrived: ${name} took ${id} ${when(last.at, now)}, after ${took(last.tookMs)}, and answered ${last.httpStatus ?? ''} ${excerptInLine(last.excerpt)}`,
    );
  if (last === undefined && test.reason === null) {
    const look = html`<noscript><a href="?done=test&delivery=${id}">See whether it arrived</a></noscript>`;
    return flash(html`The test ${id} is on its way to ${name}. ${look}`);
  }
  const why = test.reason ?? test.lastError ?? 'no reason is known';
  return html`<div class="note warning" role="status">${icon('warning', 'warning')}<p>The test did not arrive yet: <bdi>${why}</bdi> It is tried again like every delivery. ${last !== undefined && excerptInLine(last.excerpt)}</p></div>`;
}

function healthPanel(receiver: Receiver | undefined, attempts: SubscriberAttemptsBody['data'], { base, now }: Ask): Html {
  const failures = receiver?.health.failures ?? 0;
  const failingSince = receiver?.health.failingSince ?? null;
  const note =
    failures === 0 || failingSince === null ? '' : html`${tied(afterFailures(failures))}, since ${when(failingSince, now)}`;
  const steps = receiver !== undefined && failures !== 0 && ladder(receiver);
  if (attempts.length === 0)
    return panel({
      id: 'health',
      title: 'Health',
      note,
      body: nothingHere('No attempt was made yet. Each will be here with its answer and the time it took.'),
    });
  const row = ({ delivery, ...each }: SubscriberAttemptsBody['data'][number]): Html =>
    html`<tr><th scope="row">${when(each.at, now)}</th><td><a href="${base}/deliveries/${delivery}">${delivery}</a></td><td>${outcomeMark(each)}</td><td class="num">${took(each.tookMs)}</td><td class="wide answered">${excerptText(each.excerpt)}</td></tr>`;
  return panel({
    id: 'health',
    title: 'Health',
    note,
    body: html`<div class="body stack">${attemptsPicture(attempts.toReversed(), MOST_DRAWN)}${steps}</div>
<table class="cards fits"><caption>Last attempts</caption><thead><tr><th scope="col">Ended</th><th scope="col">Delivery</th><th scope="col">Outcome</th><th scope="col" class="num">Took</th><th scope="col">Answer began</th></tr></thead><tbody>${attempts.slice(0, MOST_LISTED).map(row)}</tbody></table>`,
  });
}

function deliveryPanel(found: DeliveryPage, receiver: Receiver | undefined, ask: Ask, name: string): Html {
  const path = `${ask.base}/subscribers/${encodeURIComponent(name)}`;
  const chosen = statusOf(ask.query);
  const counts = { pending: receiver?.waiting.pending, in_flight: receiver?.waiting.inFlight, parked: receiver?.waiting.parked };
  const chip = (word: string, status: string | undefined): Html => {
    const count = counts[status as keyof typeof counts];
    const many = count === undefined ? '' : ` ${number(count)}`;
    return html`<a class="chip" href="${path}${queryOf({ status })}#deliveries"${status === chosen && html` aria-current="true"`}>${word}${many}</a>`;
  };
  const chips = html`<nav class="filters" aria-label="Status">${chip('all', undefined)}${DELIVERY_STATUSES.map((each) => chip(each, each))}</nav>`;
  const nothing =
    chosen === undefined
      ? 'Nothing was sent to it yet. It gets what happens from now on.'
      : `No delivery to ${name} is ${chosen}.`;
  return panel({
    id: 'deliveries',
    title: 'Deliveries',
    right: chips,
    body: found.data.length === 0 ? nothingHere(nothing) : deliveryTable(found, ask, { hasSubscriber: false }),
    foot: olderLinks(found, {
      path,
      query: { status: chosen ?? '', ...(ask.query.cursor !== undefined && { cursor: ask.query.cursor }) },
    }),
  });
}

function getsPanel(subscriber: SubscriberBody, { now }: Ask): Html {
  const { kind, url, types, sites, states, format, headers, publicKey, description, origin, oldSecretsUntil, createdAt } =
    subscriber;
  return factsPanel('what', 'What it gets', [
    ['Address', url === null ? 'not known here' : html`${written(url)}<small>path and query are secrets and not shown</small>`],
    ['Kind', kind],
    ['Types', listText(types)],
    ['Sites', listText(sites)],
    ['States', listText(states?.map(stateBoth) ?? null)],
    ['Format', format],
    ['Headers', headers.length === 0 ? 'none of its own' : html`${headers.join(', ')}<small>their values are not shown</small>`],
    publicKey !== null && ['Public key', html`<code>${publicKey}</code>`],
    ['Secret', oldSecretsUntil === null ? 'one signs' : html`the old one signs, too, until ${when(oldSecretsUntil, now)}`],
    description !== null && ['What it is for', html`<bdi>${description}</bdi>`],
    ['Named by', origin === 'configuration' ? 'the settings' : 'the API or this console'],
    ['Since', when(createdAt, now)],
  ]);
}

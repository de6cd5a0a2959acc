/** One purchase: its life as a picture and as tables, its next poll and why, what is known of it, and what can be done. */
import type { PurchaseBody } from '../../../api/purchases/purchase-body.ts';
import type { PurchaseDetailsBody } from '../../../api/purchases/purchases.ts';
import { stateWords } from '../../../domain/purchases/states.ts';
import type { ApiRefusal } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import { icon } from '../../frame/icons.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, page } from '../../frame/page-route.ts';
import { heldLine } from '../../parts/held.ts';
import { alertNote, nothingHere, panel, written } from '../../parts/lists.ts';
import { amountOf, markOf, purchaseLink, purchasePath, stateStatus, valueText } from '../../parts/purchases.ts';
import { beside } from '../../parts/states.ts';
import { since, zoneName } from '../../parts/time.ts';
import { lifePicture } from '../../pictures/life.ts';
import { lifeOf } from '../../pictures/life-story.ts';
import { doneFlash } from './done.ts';
import { eventsPanel, statesPanel } from './history.ts';
import { knownPanel, nextPanel, stepsPanel } from './known.ts';
import { type Known, read } from './read.ts';
import { meaningOf, purchaseSentence } from './sentence.ts';

export const onePage = page('/purchases/:site/:id', (ask) => purchaseView(ask));

/** The page; with what the API refused to do, when a form was posted. */
export async function purchaseView(ask: Ask, problem: ApiRefusal | null = null): Promise<View> {
  const known = await read(ask);
  const { purchase, why } = known;
  const { base } = ask;
  const life = lifeOf(purchase, why);
  const picture =
    life === null
      ? nothingHere('Nothing is drawn yet: no poll has shown a state.')
      : html`${lifePicture(life)}${life.earlier > 0 && html`<p class="small body">${life.earlier} earlier stays are not drawn; the table of states has them.</p>`}`;
  const body = html`${doneFlash(ask.query.done)}${problem !== null && alertNote(html`<b>${problem.title}.</b> ${problem.message}`)}${head(known, ask)}
<div class="stack">${panel({ id: 'life', title: 'Its life', note: `${zoneName()}; drawn to scale, but for pauses that a zigzag shortens`, body: picture, ...(life !== null && { foot: LEGEND }) })}
<div class="two"><div class="stack">${eventsPanel(known, ask)}${statesPanel(known, ask)}${stepsPanel(known, ask)}</div>
<div class="stack">${nextPanel(known, ask)}${knownPanel(known, ask)}${samePanel(known, ask)}</div></div></div>`;
  const crumb = html`<a href="${base}/purchases">Purchases</a> / ${purchase.site} / ${written(purchase.purchaseId)}`;
  const shared = { title: `Purchase ${purchase.purchaseId.slice(0, 40)}`, place: 'purchases', crumb, body } as const;
  return problem === null ? shared : { ...shared, status: problem.status, isLive: false };
}

function head(known: Known, ask: Ask): Html {
  const { purchase, why } = known;
  const { status, state, reference, orderReference, purchaseId, site } = purchase;
  const [kind, shape] = markOf(purchase);
  const meaning = meaningOf(purchase);
  const incidents = why.standing.flatMap(({ incidentId }) => (incidentId === undefined ? [] : [incidentId]));
  return html`<div class="head"><p class="st ${kind}">${icon(shape)}<b>${state === null ? 'not seen yet' : stateWords(state.value)}</b>${beside(state)} <span class="mute">${status}${purchase.stuckSince === null ? '' : ', stuck'}</span></p><h1 class="say">${tied(purchaseSentence(purchase, why))}</h1>
${meaning !== null && html`<p class="sub">${meaning}</p>`}${matters(known)}
<p class="sub"><bdi class="id">${purchaseId}</bdi> · ${site}${reference !== null && html` · reference ${written(reference)}`}${orderReference !== null && html` · order ${written(valueText(orderReference))}`}${incidents.map((id) => html` · part of <a href="${ask.base}/incidents/${id}">${id}</a>`)}</p>
${actions(purchase, ask)}${receiverLines(known, ask)}</div>`;
}

/** Troubles of receivers: for each of these a line with a button stands below. */
const OF_RECEIVERS: ReadonlySet<string> = new Set(['subscriber_off', 'subscriber_paused', 'subscriber_unreached']);
const MOST_MATTERS = 3;

/** The troubles of the purchase itself; that all is well only where there is no trouble at all. */
function matters({ why }: Known): Html {
  const own = why.matters.filter(({ code }) => !OF_RECEIVERS.has(code));
  const texts = why.matters.length === 0 ? [why.verdict] : own.slice(0, MOST_MATTERS).map(({ text }) => text);
  const rest = own.length - MOST_MATTERS;
  const more = rest > 0 && html`<p class="sub">And ${rest} more: what happened, below, has all of it.</p>`;
  return html`${texts.map((text) => html`<p class="sub"><bdi>${tied(text)}</bdi></p>`)}${more}`;
}

/** Receivers to which nothing is sent while events of this purchase wait for them. */
function receiverLines({ purchase, deliveries, receivers }: Known, ask: Ask): Html {
  const waiting = deliveries.filter(({ status }) => status === 'parked' || status === 'pending');
  const counts = Map.groupBy(waiting, ({ subscriber }) => subscriber);
  const lines = receivers.map((each) => {
    const count = counts.get(each.name)?.length ?? 0;
    return count === 0 ? NOTHING : heldLine(each, ask, { back: purchasePath(purchase), count });
  });
  return html`${lines}`;
}

/** The buttons that apply to where it stands. */
function actions(purchase: PurchaseDetailsBody, { base, mayOperate, mayRegister }: Ask): Html {
  const path = `${base}${purchasePath(purchase)}`;
  const { status, state } = purchase;
  const isPolled = status === 'watching' || status === 'unreadable';
  const hasEnded = status === 'stopped' || status === 'expired';
  const button = (action: string, word: string, classes = ''): Html =>
    html`<form method="post" action="${path}/${action}"><button class="btn ${classes}">${word}</button></form>`;
  const isCompleted = state?.name === 'Completed';
  const invoice = isCompleted && html`<a class="btn" href="${path}/invoice">Show the invoice</a>`;
  const again = hasEnded && mayRegister && button('again', 'Watch again', 'first');
  if (!mayOperate) {
    const scopes = hasEnded && !mayRegister ? 'the scope operate, watching it again one with register' : 'the scope operate';
    return html`<div class="acts">${again}${invoice}</div><p class="small">To poll, stop or forget it, or to send an event again, sign in with a key that has ${scopes}.</p>`;
  }
  return html`<div class="acts">${again}${button('poll', 'Poll now', hasEnded ? '' : 'first')}${invoice}${isCompleted && status !== 'stopped' && button('invoice', 'Have the invoice announced')}
${isPolled && html`<a class="btn" href="#stop">Stop watching</a>`}<a class="btn heavy" href="${path}/forget">Forget</a></div>
${isPolled && html`<details id="stop" class="quiet"><summary>Stop watching it</summary><div class="confirm"><p>It is not polled any more, and no event of it is made. What is known of it stays, and it can be watched again.</p><form method="post" action="${path}/stop"><button class="btn heavy">Stop watching 1 purchase</button></form></div></details>`}`;
}

function samePanel({ purchase, same }: Known, { base, now }: Ask): Html {
  if (purchase.reference === null) return html``;
  const one = (each: PurchaseBody): Html =>
    html`<li>${stateStatus(each)} ${purchaseLink(each, base)} <small class="small">${each.site}, registered ${since(each.registeredAt, now)} ago${amountOf(each) === null ? '' : `, ${amountOf(each)}`}</small></li>`;
  const body =
    same.length === 0 ? nothingHere('No other purchase has this reference.') : html`<ul class="rows">${same.map(one)}</ul>`;
  return panel({ id: 'same', title: 'Same order', note: written(purchase.reference), body });
}

const LEGEND = html`<div class="legend"><span><svg width="16" height="12" viewBox="0 0 16 12" aria-hidden="true"><rect class="iv-bg" x="1" y="1" width="14" height="10"/></svg>changed somewhere in this interval, between two polls</span><span><svg width="22" height="12" viewBox="0 0 22 12" aria-hidden="true"><rect class="p-zip" y="1" width="22" height="10" rx="2"/><path class="p-tick" d="M2 1v10M14 1v10"/></svg>polls; of those with a mark the moment is known</span><span><svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><path class="dl-no" d="M2 2l8 8M10 2l-8 8"/></svg>attempt failed</span><span><svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><circle class="dl-ok" cx="6" cy="6" r="4.2"/></svg>delivered</span><span class="parked">${icon('parked')}parked</span></div>`;

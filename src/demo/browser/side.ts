/** The panels beside each page of the demo: Slack's messages, and the shop's webhooks with the verdict of `audit`. */
import { unmarked } from '../../channels/people/messages/mrkdwn.ts';
import { type Html, html, NOTHING, number } from '../../console/frame/html.ts';
import { status } from '../../console/frame/icons.ts';
import { nothingHere } from '../../console/parts/lists.ts';
import { slackCard } from '../../console/parts/messages/slack-card.ts';
import { clockTime } from '../../console/parts/time.ts';
import { counted } from '../../domain/values/counts.ts';
import { wordsFor } from '../cast/event-words.ts';
import type { Progress } from '../cast/progress.ts';
import type { Arrival } from '../cast/shop.ts';
import type { SlackPost } from '../cast/slack.ts';
import type { AuditSummary } from './auditor.ts';
import { type DaemonFacts, shopOf, waitingOf } from './facts.ts';

export interface SideParts {
  readonly posts: readonly SlackPost[];
  readonly progress: Progress;
  readonly facts: DaemonFacts;
  readonly isShopOpen: boolean;
  /** Null before the first audit. */
  readonly verdict: AuditSummary | null;
}

const POSTS_SHOWN = 2;
const ARRIVALS_SHOWN = 6;

/** Both panels. */
export function sideOf(parts: SideParts): Html {
  return html`<aside class="demo-side" aria-label="Slack and the shop">
<section class="panel" id="demo-slack" aria-labelledby="demo-slack-h" data-part>${slackPanel(parts.posts)}</section>
<section class="panel" id="demo-shop" aria-labelledby="demo-shop-h" data-part>${shopPanel(parts)}</section>
</aside>`;
}

function slackPanel(posts: readonly SlackPost[]): Html {
  const shown = posts.slice(-POSTS_SHOWN).reverse();
  const body =
    shown.length === 0
      ? nothingHere('Slack got no message yet. Break the card page: a message follows within about half a minute.')
      : shown.map(messageOf);
  const note =
    posts.length === 0 ? 'a stand-in, as Slack shows it' : `${counted(posts.length, 'message')}; a stand-in, as Slack shows it`;
  return html`<header><h2 id="demo-slack-h">Slack</h2><p>${note}</p></header><div>${body}</div>`;
}

/** The headline, the figures and the likely cause; the rest on demand. */
function messageOf({ at, text, blocks }: SlackPost): Html {
  if (blocks === null) return html`<p class="at">${clockTime(at)}</p><div class="message slack"><p>${unmarked(text)}</p></div>`;
  const cause = blocks.findIndex((block, index) => index > 0 && block.type === 'section' && 'text' in block);
  const first = cause < 0 ? blocks.length : cause + 1;
  const rest = blocks.slice(first);
  return html`<p class="at">${clockTime(at)}</p>${slackCard({ text, blocks: blocks.slice(0, first) })}${rest.length === 0 ? NOTHING : html`<details class="same"><summary id="demo-slack-${at}">The rest of the message</summary>${slackCard({ text, blocks: rest })}</details>`}`;
}

function shopPanel({ progress, facts, isShopOpen, verdict }: SideParts): Html {
  const misplaced = progress.misplaced;
  const order =
    misplaced === 0 ? 'all in order, without a gap' : counted(misplaced, 'webhook out of order', 'webhooks out of order');
  return html`<header><h2 id="demo-shop-h">The shop’s receiver</h2><p>each line is a webhook that it just got, its signature checked</p></header>
<dl class="figs"><div><dd>${number(progress.webhooks)}</dd><dt>arrived, ${order}</dt></div><div><dd>${behind(facts)}</dd><dt>${waits(facts, isShopOpen)}</dt></div></dl>
<p class="audit">${auditText(verdict)}</p>
<ol>${progress.arrivals.slice(-ARRIVALS_SHOWN).reverse().map(arrivalOf)}</ol>`;
}

function behind(facts: DaemonFacts): string {
  const waiting = waitingOf(facts);
  return waiting === null ? '?' : number(waiting);
}

function waits(facts: DaemonFacts, isShopOpen: boolean): Html | string {
  const shop = shopOf(facts);
  if (shop === null) return 'wait: no daemon answers';
  const until = shop.health.pausedUntil;
  if (shop.health.status === 'paused' && until !== null)
    return html`wait; paused until ${clockTime(Date.parse(until))}, <a href="/subscribers/shop">resume it now</a>`;
  return isShopOpen ? 'on their way' : 'wait: the receiver is dead';
}

function auditText(verdict: AuditSummary | null): Html | string {
  if (verdict === null) return 'audit: not run yet';
  const { at, gaps, events, first } = verdict;
  const looked = html`<span class="mute">${counted(events, 'event')}, ${counted(gaps, 'gap')}, looked at ${clockTime(at)}</span>`;
  if (gaps === 0) return html`${status('ok', 'audit: whole')} ${looked}`;
  return html`${status('critical', 'audit: gaps')} ${looked}${first === null ? NOTHING : html` <bdi>${first}</bdi>`}`;
}

function arrivalOf({ event, at, took }: Arrival): Html {
  const { site = '', purchaseId = '' } = event.data as { site?: string; purchaseId?: string };
  const { text, style } = wordsFor(event);
  const words = style === 'red' ? status('stuck', text) : style === 'green' ? status('paid', text) : text;
  const link =
    purchaseId === ''
      ? NOTHING
      : html`<br><a class="id" href="/purchases/${encodeURIComponent(site)}/${encodeURIComponent(purchaseId)}">${purchaseId}</a>`;
  return html`<li><span class="mute">${clockTime(at)} ${site} ${took} ms</span><br>${words}${link}</li>`;
}

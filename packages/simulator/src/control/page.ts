/** The page for people: what is going on at the service, and buttons to disturb it. One file, no assets from elsewhere. */
import { html, raw } from 'hono/html';
import type { Control } from '../contract/control.ts';
import { FAULT_KINDS, LIFE_NAMES } from '../contract/names.ts';
import type { PurchaseView } from '../contract/purchases.ts';
import { STATE } from '../values/states.ts';

const SHOWN = 40;
const GOOD: readonly number[] = [STATE.Completed, STATE.PaymentHandledByMerchant];
const ENDED: readonly number[] = [STATE.Error, STATE.SessionTimedOut, STATE.Cancelled, STATE.CreditNotApproved];

/** The whole page of a namespace; the name is empty for the one without a name. */
export function controlPage(control: Control, name: string) {
  const { sites } = control.settings();
  const title = name === '' ? 'Checkout simulator' : `Checkout simulator, namespace ${name}`;
  const siteChoice = html`<select name="site"><option value="">every site</option>${sites.map(({ code }) => html`<option>${code}</option>`)}</select>`;
  const stateChoice = html`<select name="states"><option value="">both pages</option><option>WaitingForIdentityProvider</option><option>WaitingForCardPayments</option></select>`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>${title}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<header><h1>${title}</h1><p>A stand-in for the checkout service. Break something and see who notices.</p></header>
<main>
<section class="controls">
<form data-post="control/negotiate"><h2>Be a shop</h2>
<label>price <input name="price" placeholder="any" pattern="\\d+(\\.\\d+)?"></label>
<label>return address <input name="returnUrl" type="url" placeholder="none"></label>
<button>Negotiate</button></form>
<form data-post="control/purchases"><h2>Add purchases</h2>
<label>life <select name="script"><option value="">any</option>${LIFE_NAMES.map((name) => html`<option>${name}</option>`)}</select></label>
<label>site ${siteChoice}</label>
<label>how many <input name="count" type="number" min="1" max="10000" value="1"></label>
<button>Add</button></form>
<form data-post="control/page/break"><h2>Merchant's page</h2>
<label>site ${siteChoice}</label><label>page ${stateChoice}</label>
<div class="row"><button class="danger">Break</button><button formaction="control/page/fix">Fix</button></div></form>
<form data-post="control/faults"><h2>Let calls fail</h2>
<label>how <select name="kind">${FAULT_KINDS.map((kind) => html`<option>${kind}</option>`)}</select></label>
<label>how long <input name="for" value="30s" pattern="\\d+(ms|s|m|h)"></label>
<div class="row"><button class="danger">Fail</button><button type="button" data-delete="control/faults">Stop</button></div></form>
<form data-post="control/load"><h2>Traffic</h2>
<label>new purchases per minute <input name="perMinute" type="number" min="0" value="${control.settings().load}"></label>
<button>Set</button></form>
<form data-post="control/clock/advance"><h2>Clock</h2>
<label>advance by <input name="by" value="30m" pattern="\\d+(ms|s|m|h|d)"></label>
<div class="row"><button>Advance</button><button type="button" class="danger" data-post="control/reset">Reset</button></div></form>
<form data-post="control/down"><h2>Outage</h2>
<label>refuse connections for <input name="for" value="30s" pattern="\\d+(ms|s|m|h)"></label>
<button class="danger">Go down</button></form>
</section>
<p id="said" role="status"></p>
<section id="rows">${purchaseRows(control)}</section>
</main>
<script>${raw(SCRIPT)}</script>
</body>
</html>`;
}

/** The part of the page that is loaded again and again: the state of things and the newest purchases. */
export function purchaseRows(control: Control) {
  const { brokenPages, clock, faults, latency, load, purchases, timeScale } = control.settings();
  const { calls, mostPerSecond } = control.counters();
  const notes = [
    ...brokenPages.map(({ site, state }) => `${site}: page broken at ${state}`),
    ...faults.map(({ kind, only, share = 1 }) => `${Math.round(share * 100)} % of ${only ?? 'all'} calls: ${kind}`),
    ...(latency > 0 ? [`${latency} ms latency`] : []),
    ...(clock.advanced > 0 ? [`clock advanced by ${Math.round(clock.advanced / 60_000)} min`] : []),
  ];
  return html`<p class="figures"><span><b>${purchases}</b> purchases</span><span><b>${load}</b> new a minute</span>
<span><b>${calls.status}</b> status calls</span><span><b>${mostPerSecond.all}</b> most calls a second</span><span>time × <b>${timeScale}</b></span></p>
${notes.length === 0 ? '' : html`<p class="notes">${notes.map((note) => html`<span>${note}</span>`)}</p>`}
<div class="scroll"><table><thead><tr><th>#</th><th>Purchase</th><th>Site</th><th>Life</th><th>State</th><th>Price</th><th>Calls</th><th>Put into state</th></tr></thead>
<tbody>${control.list({ limit: SHOWN }).map((purchase) => row(purchase, control.callsOf(purchase.purchaseId)))}</tbody></table></div>`;
}

function row({ purchaseId, number, site, life, state, price, currency }: PurchaseView, calls: number) {
  const tone = toneOf(state.value);
  return html`<tr><td>${number}</td><td><code>${purchaseId}</code></td><td>${site}</td><td>${life}</td>
<td><span class="state ${tone}">${state.name}</span></td><td class="price">${price} ${currency}</td><td>${calls}</td>
<td><select aria-label="state of purchase ${number}" data-state="control/purchases/${encodeURIComponent(purchaseId)}/state"><option value="">…</option>
${Object.entries(STATE).map(([name, value]) => html`<option value="${value}">${name}</option>`)}<option value="17">17 (unknown)</option></select></td></tr>`;
}

function toneOf(state: number): 'good' | 'ended' | 'open' | 'odd' {
  if (GOOD.includes(state)) return 'good';
  if (ENDED.includes(state)) return 'ended';
  return (Object.values(STATE) as number[]).includes(state) ? 'open' : 'odd';
}

const STYLE = `
:root { --ink: #1d2433; --soft: #68718a; --paper: #f5f6fa; --card: #fff; --line: #dfe3ec; --accent: #3355d8; --danger: #b3372f; --good: #1c7a4a; --odd: #9a5b00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f2; --soft: #98a1b8; --paper: #12151d; --card: #1b202c; --line: #2d3444; --accent: #8ba4ff; --danger: #ff8d84; --good: #6fd6a0; --odd: #f0b35a } }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper) }
header, main { max-width: 88rem; margin: auto; padding: 1.2rem 1.5rem 0 }
h1 { margin: 0; font-size: 1.5rem } header p { margin: 0; color: var(--soft) } h2 { margin: 0 0 .3rem; font-size: 1rem }
.controls { display: grid; grid-template-columns: repeat(auto-fit, minmax(13.5rem, 1fr)); gap: 1rem }
form { background: var(--card); border: 1px solid var(--line); border-radius: .7rem; padding: .9rem; display: flex; flex-direction: column; gap: .5rem }
label { display: block; color: var(--soft); font-size: .85rem } label > * { color: var(--ink) } label > * { display: block; width: 100% }
input, select, button { font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .45rem; padding: .3rem .5rem }
button { cursor: pointer; margin-top: auto; color: var(--accent); border-color: currentColor; font-weight: 600 } .danger { color: var(--danger) }
button:hover { background: var(--card) } :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px }
.row { display: flex; gap: .5rem; margin-top: auto } .row button { flex: 1 }
#said { min-height: 1.5rem; margin: .6rem 0 0; color: var(--soft) }
.figures { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; margin: .4rem 0 .8rem; color: var(--soft) } .figures b { color: var(--ink); font-size: 1.15rem }
.notes { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 .8rem } .notes span { color: var(--danger); border: 1px solid; border-radius: 1rem; padding: .05rem .7rem }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: .7rem; margin-bottom: 2rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th { text-align: left; color: var(--soft); font-weight: 500; font-size: .85rem }
th, td { padding: .4rem .8rem; border-bottom: 1px solid var(--line); white-space: nowrap } tr:last-child td { border-bottom: 0 }
td select { width: 5rem } code { font-size: .85rem } .price { text-align: right } .state { font-weight: 600; color: var(--accent) }
.good { color: var(--good) } .ended { color: var(--soft) } .odd { color: var(--odd) }
`;

const SCRIPT = `
const said = document.getElementById('said'), rows = document.getElementById('rows');
async function ask(method, path, wish) {
  const answer = await fetch(path, { method, headers: { 'content-type': 'application/json' }, body: method === 'POST' ? JSON.stringify(wish) : undefined }).catch(() => null);
  const { detail, pageUrl } = answer === null ? { detail: 'The service does not answer.' } : await answer.json();
  said.textContent = answer?.ok ? 'Done.' : detail;
  if (pageUrl) said.append(' The customer pays at ', Object.assign(document.createElement('a'), { href: pageUrl, textContent: pageUrl }));
  refresh();
}
async function refresh() {
  if (rows.contains(document.activeElement)) return;
  const answer = await fetch('control/rows').catch(() => null);
  if (answer?.ok) rows.innerHTML = await answer.text();
}
document.addEventListener('submit', (event) => {
  event.preventDefault();
  const wish = {};
  for (const field of new FormData(event.target).entries()) {
    const [name, value] = field;
    if (value === '') continue;
    wish[name] = name === 'states' ? [value] : name === 'count' || name === 'perMinute' ? Number(value) : value;
  }
  ask('POST', event.submitter?.getAttribute('formaction') ?? event.target.dataset.post, wish);
});
document.addEventListener('click', ({ target }) => {
  if (target.dataset.delete) ask('DELETE', target.dataset.delete);
  else if (target.type === 'button' && target.dataset.post) ask('POST', target.dataset.post, {});
});
document.addEventListener('change', (event) => {
  const select = event.target;
  if (!select.dataset.state || select.value === '') return;
  select.blur();
  ask('POST', select.dataset.state, { state: Number(select.value) });
});
setInterval(refresh, 1000);
`;

/** The page of a negotiated purchase, where a person or a browser's test is the customer. One file, no assets from elsewhere. */
import { html, raw } from 'hono/html';
import type { CustomerAct } from '../contract/names.ts';
import type { PurchaseView } from '../contract/purchases.ts';
import { canActIn } from '../purchases/acts.ts';

const BUTTONS: readonly (readonly [CustomerAct, label: string])[] = [
  ['pays', 'Pay'],
  ['leaves', 'Go to the bank and do not come back'],
  ['cancels', 'Cancel'],
];

/** The page of a purchase; one that is over has no buttons. */
export function checkoutPage({ purchaseId, price, currency, reference, site, state, returnUrl }: PurchaseView) {
  const isOpen = canActIn(state.value);
  const back = returnUrl === null ? '' : html`<p><a href="${returnUrl}">Back to the shop</a></p>`;
  const body = html`<h1>${price} ${currency}</h1>
<p>Order ${reference} at ${site}. This is the simulator's page; no money moves.</p>
<p>State: <b id="state">${state.name}</b></p>
<div id="acts" data-purchase="${purchaseId}" data-return="${returnUrl ?? ''}">${
    isOpen ? BUTTONS.map(([act, label]) => html`<button data-act="${act}">${label}</button> `) : ''
  }</div>
<p id="said" role="status"></p>${isOpen ? '' : back}
<script>${raw(SCRIPT)}</script>`;
  return pageWith(`Pay ${price} ${currency}`, body);
}

/** The page of an id that no purchase has. */
export function noCheckoutPage(purchaseId: string) {
  const body = html`<h1>There is no such purchase</h1><p><code>${purchaseId}</code> was not negotiated here, or was forgotten by a reset.</p>`;
  return pageWith('No such purchase', body);
}

function pageWith(title: string, body: ReturnType<typeof html>) {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">
<title>${title}</title>
<style>body { max-width: 34rem; margin: 3rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif } button { font: inherit; padding: .5rem 1rem; margin: 0 .3rem .5rem 0 }</style>
</head>
<body><main>${body}</main></body>
</html>`;
}

/** Goes back to the shop only where the checkout would: a customer whom a broken page keeps stays here. */
const SCRIPT = `
const acts = document.getElementById('acts');
acts.addEventListener('click', async ({ target }) => {
  const { act } = target.dataset;
  if (!act) return;
  const path = '../purchases/' + encodeURIComponent(acts.dataset.purchase) + '/customer';
  const answer = await fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ does: act }) });
  const purchase = await answer.json();
  if (!answer.ok) { document.getElementById('said').textContent = purchase.detail; return; }
  document.getElementById('state').textContent = purchase.state.name;
  const isBack = ['Completed', 'Error', 'PaymentHandledByMerchant'].includes(purchase.state.name);
  if (isBack && acts.dataset.return) location.href = acts.dataset.return;
  if (isBack) acts.replaceChildren();
});
`;

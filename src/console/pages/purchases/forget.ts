/** Erasing a purchase: first what there is, then, once its id is typed, doing it. */
import type { ErasureBody } from '../../../api/purchases/forget.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn, page } from '../../frame/page-route.ts';
import { field } from '../../parts/fields.ts';
import { panel, written } from '../../parts/lists.ts';
import { purchaseLink, purchasePath } from '../../parts/purchases.ts';
import { when } from '../../parts/time.ts';

const PATH = '/purchases/:site/:id/forget';

export const forgetPages = [page(PATH, (ask) => view(ask, null)), action(PATH, forget)];

function erase({ api, params: { site = '', id = '' } }: Ask, dryRun: boolean): Promise<ErasureBody> {
  return api.send('POST', `/v1/purchases/${encodeURIComponent(id)}/forget?${new URLSearchParams({ site })}`, { dryRun });
}

async function forget(ask: Ask): Promise<View | GoOn> {
  if ((ask.form.confirm ?? '').trim() !== ask.params.id) {
    return {
      ...(await view(ask, 'is not the id of this purchase; nothing was erased. Type or copy the id as it stands above it')),
      status: 400,
    };
  }
  await erase(ask, false);
  return { goTo: '/purchases?done=forgotten' };
}

async function view(ask: Ask, problem: string | null): Promise<View> {
  const { base } = ask;
  const plan = await erase(ask, true);
  const { counts, purchaseId, site } = plan;
  const path = `${base}${purchasePath(plan)}`;
  const errors = problem === null ? [] : [{ field: 'confirm', detail: problem }];
  const tried = { values: ask.form, refusal: { message: '', errors, status: 400 as const } };
  const form = html`<form class="body stack" method="post" action="${path}/forget"><p>To erase it, type its id: <code><bdi>${purchaseId}</bdi></code></p>${field({ name: 'confirm', label: 'Purchase ID', tried, isRequired: true })}
<div class="acts"><button class="btn heavy">Erase 1 purchase and ${counted(counts.events, 'event')}</button><a class="btn" href="${path}">Keep it</a></div></form>`;
  const body = html`<div class="head"><h1 class="say">Erase this purchase? It cannot be undone.</h1><p class="sub"><bdi>${purchaseId}</bdi> at ${site}</p></div>
<div class="stack">${panel({ id: 'erased', title: 'What is erased', body: html`<ul class="rows">${erased(counts).map((text) => html`<li>${text}</li>`)}</ul>` })}${remarks(plan, ask)}
${panel({ id: 'stays', title: 'Out of reach', note: 'where traces may remain', body: html`<ul class="rows">${plan.outOfReach.map((place) => html`<li>${place}</li>`)}</ul>` })}${panel({ id: 'confirm', title: 'Erase it', body: form })}</div>`;
  const crumb = html`<a href="${base}/purchases">Purchases</a> / ${written(site)} / ${purchaseLink(plan, base)} / forget`;
  return { title: 'Forget a purchase', place: 'purchases', crumb, body, isLive: false };
}

function erased({ transitions, events, deliveries, attempts, mentions, pending }: ErasureBody['counts']): string[] {
  return [
    'Its reference, metadata and stored fields',
    `${counted(transitions, 'transition')} and ${counted(events, 'event')}`,
    `${counted(deliveries, 'delivery', 'deliveries')} with ${counted(attempts, 'attempt')}`,
    ...(mentions > 0 ? [`Its id in ${counted(mentions, 'event')} of the site or about incidents`] : []),
    ...(pending > 0 ? [`${counted(pending, 'delivery is', 'deliveries are')} still to be made, and will never be`] : []),
  ];
}

function remarks({ remarks: texts }: ErasureBody, { now }: Ask): Html {
  if (texts.length === 0) return html``;
  const row = ({ place, id, field, by, at, text }: ErasureBody['remarks'][number]): Html =>
    html`<li><bdi>${text}</bdi><small class="small">${field} of ${place} ${id}${by !== null && html`, by <bdi>${by}</bdi>`}, ${when(at, now)}</small></li>`;
  const note = 'this stays, unless its author changes it';
  return panel({ id: 'remarks', title: 'What people wrote about it', note, body: html`<ul class="rows">${texts.map(row)}</ul>` });
}

/** The map of the flow with its filter, its list and its table. */
import type { FlowBody } from '../../../api/flow/flow.ts';
import { type Html, html, NOTHING, number } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { clockTime } from '../../parts/time.ts';
import { flowMap, type ListOf } from '../../pictures/flow-map.ts';
import { type FlowPicture, flowPicture, type Moment } from '../../pictures/flow-model.ts';
import { flowLegend, flowList, flowTable } from '../../pictures/flow-words.ts';

/** So many sites are buttons beside each other; more are a list to choose from. */
const MOST_BUTTONS = 4;
const LONGEST_BUTTON = 20;

/** Draws the flow of all sites, or of the one that the address names; `sites`: those that can be chosen; `at`: the past moment that the address names. */
export function flowPanel(flow: FlowBody, sites: readonly string[], { base, origin }: Ask, at: string | null = null): Html {
  const { site, usualDays, notSeenYet } = flow;
  const moment = at === null ? 'now' : 'then';
  const picture = flowPicture(flow, undefined, moment);
  const listOf = at === null ? presentList(base, site) : null;
  const where = site ?? 'all sites';
  const left =
    picture.left === 0 ? '' : ` ${number(picture.left)} more states that the specification does not list are in the table.`;
  const body =
    picture.nodes.length === 0
      ? nothingHere(
          ...(at !== null
            ? ['No purchase was watched in this hour, so there is nothing to draw.']
            : [
                notSeenYet > 0
                  ? `${number(notSeenYet)} registered, and none has been seen yet: the first poll comes within seconds.`
                  : 'No purchase was watched in the last hour, so there is nothing to draw.',
                html`Register one: <code>npx purchase-watch watch &lt;purchase id&gt;</code>, or <code>curl -X POST ${origin}/v1/purchases -H 'content-type: application/json' -d '{"purchaseId": "…"}'</code>`,
              ]),
        )
      : html`<div>${flowMap(picture, { label: `State flow of the ${at === null ? 'last hour' : 'hour'}, ${where}`, listOf })}${flowList(picture, listOf)}</div>`;
  const table =
    picture.nodes.length !== 0 &&
    html`<footer>${flowLegend}<span>${usualWords(usualDays, moment)}${left}</span></footer>${flowTable(
      flowPicture(flow, Number.POSITIVE_INFINITY, moment),
      {
        caption: `Since ${clockTime(Date.parse(flow.from))}, ${where}. Counts are purchases; usual is the median time until a customer got on.`,
        listOf,
      },
    )}`;
  return panel({
    id: 'flow',
    title: at === null ? 'Flow in the last hour' : `Flow in the hour before ${clockTime(Date.parse(flow.to)).slice(0, 5)}`,
    note: `since ${flowText(flow, picture)}`,
    right: filter(site, sites, { base, at }),
    body: html`${body}${table}`,
  });
}

/** The purchases that are in a state now. */
function presentList(base: string, site: string | null): ListOf {
  return ({ name, key, column }) => {
    const filters = new URLSearchParams({
      state: name.startsWith('Unknown(') ? String(key) : name,
      ...(column < 3 && { status: 'watching' }),
      ...(site !== null && { site }),
    });
    return `${base}/purchases?${filters}`;
  };
}

function usualWords(days: number | null, moment: Moment): string {
  if (days !== null)
    return `Usual: the mean of the same minutes on ${days} of the ${moment === 'now' ? 'last 14 days' : '14 days before'}, weekends among them.`;
  return moment === 'now'
    ? 'What is usual at this hour is known after three days.'
    : 'What was usual at this hour is not known: fewer than three of the days before are kept.';
}

/** How many purchases came, and how many completed, in words. */
export function flowText({ from }: FlowBody, { came, completed, usuallyCompleted }: FlowPicture): string {
  const usually = usuallyCompleted === null ? '' : `, usually ${number(usuallyCompleted)}`;
  return `${clockTime(Date.parse(from)).slice(0, 5)}: ${number(came)} came, ${number(completed)} completed${usually}`;
}

function filter(site: string | null, sites: readonly string[], { base, at }: { base: string; at: string | null }): Html {
  if (sites.length < 2 && site === null) return NOTHING;
  const isShort = sites.length <= MOST_BUTTONS && sites.every((name) => name.length <= LONGEST_BUTTON);
  if (!isShort) {
    const option = (name: string): Html => html`<option value="${name}"${name === site && html` selected`}>${name}</option>`;
    return html`<form class="fields" action="${base}/">${at !== null && html`<input type="hidden" name="at" value="${at}">`}<select class="clip" id="flow-site" name="site" aria-label="Site"><option value="">All sites</option>${sites.map(option)}</select><button class="btn" id="flow-show">Show</button></form>`;
  }
  const link = (name: string | null): Html => {
    const query = new URLSearchParams({ ...(at !== null && { at }), ...(name !== null && { site: name }) }).toString();
    return html`<a id="flow-of-${name ?? ''}" href="${base}/${query === '' ? '' : `?${query}`}"${name === site && html` aria-current="true"`}>${name ?? 'All sites'}</a>`;
  };
  return html`<nav class="seg" aria-label="Sites of the map">${[null, ...sites].map(link)}</nav>`;
}

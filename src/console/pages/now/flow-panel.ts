/** The map of the flow with its filter, its list and its table. */
import type { FlowBody } from '../../../api/flow/flow.ts';
import { queryOf } from '../../frame/api-calls.ts';
import { type Html, html, number } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { siteChoice } from '../../parts/sites.ts';
import { clockTime } from '../../parts/time.ts';
import { flowMap, type ListOf } from '../../pictures/flow-map.ts';
import { type FlowNode, type FlowPicture, flowPicture, type Moment } from '../../pictures/flow-model.ts';
import { flowLegend, flowList, flowTable } from '../../pictures/flow-words.ts';

/** Draws the flow of all sites, or of the one that the address names; `sites`: those that can be chosen; `at`: the past moment that the address names. */
export function flowPanel(flow: FlowBody, sites: readonly string[], { base, origin }: Ask, at: string | null = null): Html {
  const { site, usualDays, notSeenYet } = flow;
  const moment = at === null ? 'now' : 'then';
  const picture = flowPicture(flow, undefined, moment);
  const listOf: ListOf = (node) => (at === null && node.column < 3 ? presentList(node, { base, site }) : null);
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
    right: siteChoice({
      site,
      sites,
      path: `${base}/`,
      id: 'flow',
      label: 'Sites of the map',
      ...(at !== null && { keep: { at } }),
    }),
    body: html`${body}${table}`,
  });
}

/** The purchases that are watched in a state now. A final state says how many came in an hour, of which there is no list. */
function presentList({ name, key }: FlowNode, { base, site }: { base: string; site: string | null }): string {
  const state = name.startsWith('Unknown(') ? String(key) : name;
  return `${base}/purchases${queryOf({ state, status: 'watching', site })}`;
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

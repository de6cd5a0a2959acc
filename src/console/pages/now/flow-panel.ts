/** The map of the flow with its filter, its list and its table. */
import type { FlowBody } from '../../../api/flow/flow.ts';
import { type Html, html, number } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { siteChoice } from '../../parts/sites.ts';
import { clockTime } from '../../parts/time.ts';
import { flowMap, type ListOf } from '../../pictures/flow-map.ts';
import { type FlowPicture, flowPicture } from '../../pictures/flow-model.ts';
import { flowLegend, flowList, flowTable } from '../../pictures/flow-words.ts';

/** Draws the flow of all sites, or of the one that the address names; `sites`: those that can be chosen. */
export function flowPanel(flow: FlowBody, sites: readonly string[], { base, origin }: Ask): Html {
  const { site, usualDays, notSeenYet } = flow;
  const picture = flowPicture(flow);
  const listOf: ListOf = ({ name, key, column }) => {
    const filters = new URLSearchParams({
      state: name.startsWith('Unknown(') ? String(key) : name,
      ...(column < 3 && { status: 'watching' }),
      ...(site !== null && { site }),
    });
    return `${base}/purchases?${filters}`;
  };
  const where = site ?? 'all sites';
  const left =
    picture.left === 0 ? '' : ` ${number(picture.left)} more states that the specification does not list are in the table.`;
  const usual =
    usualDays === null
      ? 'What is usual at this hour is known after three days.'
      : `Usual: the mean of the same minutes on ${usualDays} of the last 14 days, weekends among them.`;
  const body =
    picture.nodes.length === 0
      ? nothingHere(
          notSeenYet > 0
            ? `${number(notSeenYet)} registered, and none has been seen yet: the first poll comes within seconds.`
            : 'No purchase was watched in the last hour, so there is nothing to draw.',
          html`Register one: <code>npx purchase-watch watch &lt;purchase id&gt;</code>, or <code>curl -X POST ${origin}/v1/purchases -H 'content-type: application/json' -d '{"purchaseId": "…"}'</code>`,
        )
      : html`<div>${flowMap(picture, { label: `State flow of the last hour, ${where}`, listOf })}${flowList(picture, listOf)}</div>`;
  const table =
    picture.nodes.length !== 0 &&
    html`<footer>${flowLegend}<span>${usual}${left}</span></footer>${flowTable(flowPicture(flow, Number.POSITIVE_INFINITY), {
      caption: `Since ${clockTime(Date.parse(flow.from))}, ${where}. Counts are purchases; usual is the median time until a customer got on.`,
      listOf,
    })}`;
  return panel({
    id: 'flow',
    title: 'Flow in the last hour',
    note: `since ${flowText(flow, picture)}`,
    right: siteChoice({ site, sites, path: `${base}/`, id: 'flow', label: 'Sites of the map' }),
    body: html`${body}${table}`,
  });
}

/** How many purchases came, and how many completed, in words. */
export function flowText({ from }: FlowBody, { came, completed, usuallyCompleted }: FlowPicture): string {
  const usually = usuallyCompleted === null ? '' : `, usually ${number(usuallyCompleted)}`;
  return `${clockTime(Date.parse(from)).slice(0, 5)}: ${number(came)} came, ${number(completed)} completed${usually}`;
}

/** The flow without the picture: a list for narrow windows, and a table with the same numbers. */
import { type Html, html, number } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';
import { beside } from '../parts/states.ts';
import { length } from '../parts/time.ts';
import { agesLine, oneLimit } from './ages.ts';
import { type ListOf, listLink, usualText } from './flow-map.ts';
import type { FlowEdge, FlowNode, FlowPicture } from './flow-model.ts';

/** Stuck states first; those that wait with the same strips as in the picture. */
export function flowList(picture: FlowPicture, listOf: ListOf): Html {
  const waiting = picture.nodes.filter(({ column }) => column === 2).sort((a, b) => b.state.stuck - a.state.stuck);
  const others = picture.nodes.filter(({ column }) => column !== 2);
  return html`<ul class="flow-list rows only-narrow">${waiting.map((node) => waitingItem(node, picture, listOf))}${others.map((node) => item(node, listOf))}</ul>`;
}

function waitingItem(node: FlowNode, picture: FlowPicture, listOf: ListOf): Html {
  const { flag, moment, state } = node;
  const { watching, stuck, usual, came } = state;
  const mark = flag === null ? 'waiting' : 'stuck';
  const usually = usual === null ? 'How long customers usually wait is not known' : `Usual ${length(usual.usualMs)}`;
  const on = waysFrom(node, picture).map(({ edge, to }) => wayText(edge, `${to.words}: ${number(edge.count)}`));
  return html`<li${flag !== null && html` class="is-stuck"`}><span>${icon(mark, mark)} ${listLink(node, listOf)}</span><span class="counts"><b>${number(watching)}</b> ${moment}${stuck !== 0 && html` <b class="stuck">${number(stuck)} stuck</b>`}</span>${watching !== 0 && html`<svg class="go" viewBox="0 0 304 16" aria-hidden="true">${agesLine(state, { x: 0, y: 8, width: 300 })}</svg>`}<span class="go">${flag !== null && html`<span class="${flag.isCritical ? 'critical' : 'warning'}">${flag.text}</span>. `}${[usually, limitText(node)].filter(Boolean).join(', ')}. ${number(came)} came; ${on.length === 0 ? 'none went on' : on.map((text, place) => html`${place === 0 ? '' : ', '}${text}`)}.</span></li>`;
}

function item(node: FlowNode, listOf: ListOf): Html {
  const { state, moment, column, isPaid } = node;
  const mark = isPaid ? icon('paid', 'ok') : icon('final', 'final');
  const counts =
    column === 3
      ? html`<b>${number(state.came)}</b> in the hour`
      : html`<b>${number(state.watching)}</b> ${moment}, ${number(state.came)} came`;
  return html`<li><span>${column === 3 && mark} ${listLink(node, listOf)}</span><span class="counts">${counts}</span></li>`;
}

function waysFrom({ key }: FlowNode, { edges, nodes }: FlowPicture): { edge: FlowEdge; to: FlowNode }[] {
  return edges.filter(({ from }) => from === key).map((edge) => ({ edge, to: nodes.find((node) => node.key === edge.to)! }));
}

function wayText({ isMissed, usual }: FlowEdge, text: string): Html {
  return isMissed ? html`${text} <b class="stuck">(usually ${usualText(usual!)})</b>` : html`${text}`;
}

/** Empty where nothing is known: the limits of all sites are those of the sites that watch purchases in the state. */
function limitText({ state }: FlowNode): string {
  if (state.limits.length === 0) return 'no limit';
  const limit = oneLimit(state);
  return limit === null ? 'limits differ by site' : `limit ${length(limit)}`;
}

/** All states, also those that the picture has no room for. */
export function flowTable(picture: FlowPicture, { caption, listOf }: { caption: string; listOf: ListOf }): Html {
  const row = (node: FlowNode): Html => {
    const { state, column } = node;
    const { watching, stuck, usual, came, final } = state;
    const on = waysFrom(node, picture).map(
      ({ edge, to }, place) => html`${place === 0 ? '' : ', '}${wayText(edge, `${to.words} ${number(edge.count)}`)}`,
    );
    return html`<tr><th scope="row">${listLink(node, listOf)}${beside(state.state)}</th><td class="num">${number(watching)}</td><td class="num">${stuck > 0 ? html`<b class="stuck">${number(stuck)}</b>` : '0'}</td><td>${usual === null ? '' : length(usual.usualMs)}</td><td>${column === 3 ? '' : limitText(node)}</td><td class="num">${number(came)}</td><td>${on.length > 0 ? on : html`<span class="mute">${final ? 'final' : 'none'}</span>`}</td></tr>`;
  };
  return html`<details class="same" id="flow-table"><summary>The same as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="State flow as a table"><table><caption>${caption}</caption><thead><tr><th scope="col">State</th><th scope="col" class="num">${picture.nodes[0]?.moment === 'then' ? 'Then' : 'Now'}</th><th scope="col" class="num">Stuck</th><th scope="col">Usual</th><th scope="col">Limit</th><th scope="col" class="num">Came</th><th scope="col">Went on to</th></tr></thead><tbody>${picture.nodes.map(row)}</tbody></table></div></details>`;
}

/** The meaning of the marks of the map. */
export const flowLegend: Html = html`<div class="legend"><span class="only-wide"><svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true"><path class="e" d="M0 6H26" stroke-width="9"/></svg>width: purchases in the hour</span><span class="only-wide"><svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true"><path class="ghost" d="M0 2H26M0 10H26"/></svg>usual width, where it is less than half</span><span><svg width="44" height="12" viewBox="0 0 44 12" aria-hidden="true"><rect class="ax-usual" x="0" y="2" width="16" height="8"/><path class="ax-line" d="M0 6H44"/><path class="ax-limit" d="M28 0v12"/><path class="tick-w" d="M9 1.5v9"/><path class="tick-s" d="M37 1l3.6 5-3.6 5-3.6-5z"/></svg>each purchase by age: usual, limit, stuck</span></div>`;

/** Shares by hour as a table of coloured cells; each has its share in 100 as a number, so that it reads without colour. */
import { shareOf } from '../../../domain/trends/compare.ts';
import { type Html, html, number } from '../../frame/html.ts';

/** Customers of a cell. */
export interface HeatCell {
  readonly customers: number;
  readonly paid: number;
  /** When it was, in words. */
  readonly when: string;
  /** Whether it is framed; why is the same for all cells. */
  readonly inIncident: boolean;
  /** The list of its customers; null where that has not all of them any more. */
  readonly href: string | null;
}

export interface HeatRow {
  readonly head: Html | string;
  readonly cells: readonly HeatCell[];
}

/** From which share on a cell has a colour, the palest first: the same for all sites and times, so that two tables compare. */
const STEPS = [0.82, 0.77, 0.72, 0.65, 0.5];

const stepOf = (share: number): number => {
  const step = STEPS.findIndex((least) => share >= least);
  return step < 0 ? STEPS.length : step;
};

export function heatMap({
  incidentWords,
  rows,
  columns,
  rowHead,
  caption,
}: {
  /** Why a cell is framed. */
  incidentWords: string;
  rows: readonly HeatRow[];
  columns: readonly string[];
  rowHead: string;
  caption: string;
}): Html {
  const head = columns.map((text) => html`<th scope="col">${text}</th>`);
  const row = ({ head: name, cells }: HeatRow): Html =>
    html`<tr><th scope="row">${name}</th>${cells.map((cell, at) => cellOf(cell, { before: cells[at - 1], after: cells[at + 1], incidentWords }))}</tr>`;
  return html`<table class="heat"><caption class="vh">${caption}</caption><thead><tr><th scope="col">${rowHead}</th>${head}</tr></thead><tbody>${rows.map(row)}</tbody></table>`;
}

function cellOf(
  cell: HeatCell,
  { before, after, incidentWords }: { before: HeatCell | undefined; after: HeatCell | undefined; incidentWords: string },
): Html {
  const { customers, paid, when, inIncident, href } = cell;
  const share = shareOf(cell);
  const edges = `${before?.inIncident === true ? '' : ' start'}${after?.inIncident === true ? '' : ' end'}`;
  const classes = `${share === null ? 'few' : `h${stepOf(share)}`}${inIncident ? ` in${edges}` : ''}`;
  const says = `${when}: ${number(paid)} of ${number(customers)} paid${share === null ? ', too few to say' : ''}${inIncident ? `; ${incidentWords}` : ''}`;
  const text = share === null ? html`·<span class="vh">too few to say</span>` : html`${String(Math.round(share * 100))}`;
  const inside =
    href === null || customers === 0
      ? html`<span title="${says}">${text}</span>`
      : html`<a tabindex="-1" href="${href}" title="${says}">${text}</a>`;
  return html`<td class="${classes}">${inside}</td>`;
}

const STEP_WORDS = ['82 or more', '77 to 82', '72 to 77', '65 to 72', '50 to 65', 'under 50'];

/** `incidentWords`: null where no cell is framed. */
export function heatLegend(incidentWords: string | null): Html {
  return html`<div class="legend"><span>Paid, of 100 customers:</span>${STEP_WORDS.map((words, step) => html`<span><i class="k h${String(step)}"></i>${words}</span>`)}<span><i class="k few">·</i>too few to say, under 30</span>${incidentWords !== null && html`<span><i class="k in"></i>${incidentWords}</span>`}</div>`;
}

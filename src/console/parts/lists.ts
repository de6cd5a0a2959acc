/** Parts that pages share: panels, figures, messages about what was done, and what an empty list says. */
import { type Html, html, NOTHING } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';

export interface Panel {
  /** Of the heading, for links and for screen readers. */
  readonly id: string;
  readonly title: string;
  readonly note?: Html | string | undefined;
  readonly right?: Html | false;
  readonly body: Html;
  readonly foot?: Html | false | undefined;
}

/** A part of a page under a heading of its own. */
export function panel({ id, title, note, right, body, foot }: Panel): Html {
  return html`<section class="panel" aria-labelledby="${id}"><header><h2 id="${id}">${title}</h2>${note !== undefined && html`<p>${note}</p>`}${right && html`<div class="right">${right}</div>`}</header>
${body}${foot && html`<footer>${foot}</footer>`}</section>`;
}

/** The text in place of a list: what would be here, why it is not, and the next step. */
export function nothingHere(...paragraphs: readonly (Html | string)[]): Html {
  return html`<div class="none">${paragraphs.map((text) => (typeof text === 'string' ? html`<p>${text}</p>` : html`<div>${text}</div>`))}</div>`;
}

/** A refusal or a fault as a note; nothing where there is none. */
export function alertNote(text: Html | string | null | undefined, id?: string): Html {
  if (text == null) return NOTHING;
  return html`<div class="note warning" role="alert">${icon('warning', 'warning')}<p${id !== undefined && html` id="${id}"`}>${text}</p></div>`;
}

/** The note about the act that was just done, after a form was posted. */
export function flash(text: Html | string): Html {
  return html`<p class="flash" role="status">${icon('ok', 'ok')}<span>${text}</span></p>`;
}

/** A text that a person wrote: it keeps its direction, and a long text is cut with the whole of it in the title. */
export function written(text: string): Html {
  return html`<bdi class="clip" title="${text}">${text}</bdi>`;
}

/** A term and what it is; false: left out. */
export type Fact = readonly [term: string, is: Html | string] | false;

export function facts(pairs: readonly Fact[]): Html {
  return html`<dl class="facts">${pairs.map((pair) => pair && html`<dt>${pair[0]}</dt><dd>${pair[1]}</dd>`)}</dl>`;
}

/** A panel of nothing but facts. */
export function factsPanel(id: string, title: string, pairs: readonly Fact[]): Html {
  return panel({ id, title, body: html`<div class="body">${facts(pairs)}</div>` });
}

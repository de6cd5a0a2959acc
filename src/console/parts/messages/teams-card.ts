/** An Adaptive Card as Teams shows it, with markup of this console's own: nothing of it is trusted. */
import type { TeamsMessage } from '../../../channels/teams/card.ts';
import { type Html, html } from '../../frame/html.ts';

type Block = TeamsMessage['attachments'][0]['content']['body'][number];
type Text = Extract<Block, { type: 'TextBlock' }>;

/** The Markdown that cards know: an escaped sign, a link, an entity. */
const MARK = /\\(?<sign>[\s\S])|\[(?<label>(?:\\[\s\S]|[^\]\\])*)\]\((?<url>[^)\s]*)\)|&(?<entity>amp|lt|gt);/gu;
const ENTITIES = { amp: '&', lt: '<', gt: '>' } as const;
/** Keeps clients from making links of texts, and is not seen. */
const NO_WIDTH = /\u200b/gu;

export function teamsCard({ attachments: [{ content }] }: TeamsMessage): Html {
  return html`<div class="message teams"><p class="who"><b>purchase-watch</b> <span>Workflows</span></p>${content.body.map(blockOf)}</div>`;
}

function blockOf(block: Block): Html {
  if (block.type === 'FactSet')
    return html`<dl>${block.facts.map(({ title, value }) => html`<dt><bdi>${title}</bdi></dt><dd>${paragraphs(value)}</dd>`)}</dl>`;
  const text = paragraphs(block.text);
  return block.weight === 'Bolder'
    ? html`<p class="${sizeOf(block)}"><b>${text}</b></p>`
    : html`<p class="${sizeOf(block)}">${text}</p>`;
}

const sizeOf = ({ size, isSubtle }: Text): string => (isSubtle ? 'small' : size === 'Large' ? 'large' : '');

/** Each line of a text is a paragraph of a card. */
function paragraphs(text: string): Html[] {
  return text.split('\n\n').map((line, at) => html`${at !== 0 && html`<br>`}<bdi>${inLine(line)}</bdi>`);
}

function inLine(text: string): Html[] {
  const pieces: Html[] = [];
  let end = 0;
  for (const found of text.matchAll(MARK)) {
    pieces.push(shown(text.slice(end, found.index)), markOf(found.groups as Marks));
    end = found.index + found[0].length;
  }
  return [...pieces, shown(text.slice(end))];
}

type Marks = Partial<Record<'sign' | 'label' | 'url', string>> & { readonly entity?: keyof typeof ENTITIES };

function markOf({ sign, label = '', url = '', entity }: Marks): Html {
  if (sign !== undefined) return shown(sign);
  if (entity !== undefined) return shown(ENTITIES[entity]);
  return /^https?:\/\//.test(url) ? html`<a href="${url}" rel="noreferrer">${inLine(label)}</a>` : html`${inLine(label)}`;
}

const shown = (text: string): Html => html`${text.replace(NO_WIDTH, '')}`;

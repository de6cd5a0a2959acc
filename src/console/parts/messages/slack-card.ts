/** A message as Slack shows it, with markup of this console's own: nothing of it is trusted. */
import type { SlackMessage } from '../../../channels/slack/message.ts';
import { type Html, html } from '../../frame/html.ts';
import { exactTime } from '../time.ts';

type Block = SlackMessage['blocks'][number];

/** A moment, a link, bold text or code; whatever is between them is text. */
const MARK =
  /<!date\^(?<seconds>\d{1,11})\^(?<form>[^|>]*)\|[^>]*>|<(?<url>[^|>\n]+)\|(?<label>[^>\n]*)>|\*(?<bold>[^*\n]+)\*|`(?<code>[^`\n]+)`/gu;

export function slackCard({ blocks }: SlackMessage): Html {
  return html`<div class="message slack"><p class="who"><b>purchase-watch</b> <span>APP</span></p>${blocks.map(blockOf)}</div>`;
}

function blockOf(block: Block): Html {
  if (block.type === 'header') return html`<p><b><bdi>${plainOf(block.text.text)}</bdi></b></p>`;
  if (block.type === 'context') return html`${block.elements.map(({ text }) => html`<p class="small">${marked(text)}</p>`)}`;
  if ('text' in block) return html`<p>${marked(block.text.text)}</p>`;
  return html`<dl>${block.fields.map(({ text }) => {
    const [label = '', ...values] = text.split('\n');
    return html`<dt>${marked(label)}</dt><dd>${marked(values.join('\n'))}</dd>`;
  })}</dl>`;
}

/** Markup of Slack's, line by line. */
function marked(text: string): Html {
  return html`${text.split('\n').map((line, at) => html`${at !== 0 && html`<br>`}<bdi>${inLine(line)}</bdi>`)}`;
}

function inLine(line: string): Html[] {
  const pieces: Html[] = [];
  let end = 0;
  for (const found of line.matchAll(MARK)) {
    pieces.push(html`${plainOf(line.slice(end, found.index))}`, markOf(found.groups as Marks));
    end = found.index + found[0].length;
  }
  return [...pieces, html`${plainOf(line.slice(end))}`];
}

type Marks = Partial<Record<'seconds' | 'form' | 'url' | 'label' | 'bold' | 'code', string>>;

function markOf({ seconds, form, url, label, bold, code }: Marks): Html {
  if (seconds !== undefined) return html`${momentOf(Number(seconds) * 1_000, form!)}`;
  if (bold !== undefined) return html`<b>${inLine(bold)}</b>`;
  if (code !== undefined) return html`<code>${plainOf(code)}</code>`;
  const address = plainOf(url ?? '');
  const text = plainOf(label ?? '');
  return /^https?:\/\//.test(address) ? html`<a href="${address}" rel="noreferrer">${text}</a>` : html`${text}`;
}

/** Slack writes moments in the zone of each reader, this page in its own. */
function momentOf(at: number, form: string): string {
  return form.includes('{time}') ? exactTime(at) : exactTime(at).slice(0, 10);
}

/** Slack's three escapes undone; templates escape what comes out. */
function plainOf(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

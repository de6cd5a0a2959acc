/** Messages for e-mail: the words of people's messages as a subject, as plain text and as HTML that says the same. */

import { PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import { type Draft, fitted, type Piece } from '../people/messages/draft.ts';
import { eventDraft, type MessageOptions } from '../people/messages/message.ts';
import { linked, plainText, translated } from '../people/messages/mrkdwn.ts';
import { type FoldOptions, foldedDraft } from '../people/messages/together.ts';

export interface EmailMessage {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** An event as a message. Pure; never throws: an event of an unexpected shape is announced by its type. */
export function emailMessage(body: string, options: MessageOptions): EmailMessage {
  return laidOut(eventDraft(body, options));
}

/** Events, oldest first, as one message. Pure; never throws. */
export function emailFolded(bodies: readonly string[], options: Omit<FoldOptions, 'service'>): EmailMessage {
  return laidOut(foldedDraft(bodies, { ...options, service: PEOPLE_KINDS.email.title }));
}

/** Nothing yields: mail has room for everything that a draft holds. */
function laidOut(draft: Draft): EmailMessage {
  const pieces = fitted(draft, () => true);
  const subject = plainText(draft.headline);
  const lines = pieces.map(({ kind, label, text }) => {
    const said = plainText(text);
    return kind === 'fact'
      ? `${label}: ${said.replaceAll('\n', ', ')}`
      : `\n${label === '' ? '' : `${plainText(label)}\n`}${said}`;
  });
  return { subject, text: [subject, '', ...lines, ''].join('\n'), html: htmlOf(draft, pieces) };
}

/** No picture, no script and nothing that is loaded from elsewhere: mail programs show it as it is. */
function htmlOf({ headline, page }: Draft, pieces: readonly Piece[]): string {
  const of = (wanted: Piece['kind']): Piece[] => pieces.filter(({ kind }) => kind === wanted);
  const facts = of('fact').map(
    ({ label, text }) => `<tr><th align="left" valign="top">${marked(label)}</th><td>${marked(text)}</td></tr>`,
  );
  const paragraphs = of('paragraph').map(
    ({ label, text }) => `<h2 style="font-size:1em">${marked(label)}</h2>\n<p>${marked(text)}</p>`,
  );
  const notes = of('note').map(({ text }) => `<p style="font-size:.85em">${marked(text)}</p>`);
  return [
    '<!doctype html><html lang="en"><body style="font-family:sans-serif">',
    `<h1 style="font-size:1.2em">${marked(page === undefined ? headline : linked(page, headline))}</h1>`,
    ...(facts.length === 0 ? [] : ['<table cellpadding="4">', ...facts, '</table>']),
    ...paragraphs,
    ...notes,
    '</body></html>',
    '',
  ].join('\n');
}

/** Markup as HTML in which no value can be a tag, an attribute or, to most mail programs, an address. */
function marked(markup: string): string {
  const link = (address: string, label: string): string => `<a href="${escaped(address)}">${escaped(label)}</a>`;
  const text = (value: string): string => escaped(value).replace(ADDRESSES, '$&&#8203;');
  return markup
    .split('\n')
    .map((line) => translated(line, { text, link }))
    .join('<br>\n');
}

/** Mail programs make links of addresses and of mail addresses; parted by a character of no width they are text. */
const ADDRESSES = /:(?=\/\/)|www(?=\.)|@(?=[\p{L}\p{N}])/giu;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

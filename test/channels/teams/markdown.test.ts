import fc from 'fast-check';
import { marked, type Token } from 'marked';
import { expect, test } from 'vitest';
import { code, day, linked, moment, plain, plainText } from '../../../src/channels/people/messages/mrkdwn.ts';
import { markdown } from '../../../src/channels/teams/markdown.ts';

test.each([
  ['emphasis', '*bold* _it_ ~gone~', '\\*bold\\* \\_it\\_ \\~gone\\~'],
  ['a link', '[our bank](https://evil.example)', '\\[our bank\\]\\(https:\u200b//evil.example\\)'],
  ['a heading', '# big', '\\# big'],
  ['a list', '- one', '\\- one'],
  ['a numbered list', '1. one', '1\\. one'],
  ['a quotation', '> said', '&gt; said'],
  ['an entity', '&lt;at&gt;', '&amp;lt;at&amp;gt;'],
  ['an address', 'HTTPS://evil.example', 'HTTPS:\u200b//evil.example'],
  ['an address without a scheme', 'www.evil.example', 'www\u200b.evil.example'],
  ['a mail address', 'kim@evil.example', 'kim@\u200bevil.example'],
  ['a backslash before a mark', '\\*', '\\\\\\*'],
  ['a function of cards', '{{DATE(2026-11-20T09:15:00Z)}}', '{\u200b{DATE\\(2026-11-20T09:15:00Z\\)}}'],
  ['a mention', '<at>Everybody</at> & all', '&lt;at&gt;Everybody&lt;/at&gt; &amp; all'],
])('%s that somebody wrote into a value stays what it was written as', (_, value, shown) => {
  expect(markdown(plain(value, 200))).toBe(shown);
  expect(plainText(plain(value, 200))).toBe(value);
});

test('code is text, dates are in UTC, and each line is a paragraph', () => {
  const at = Date.UTC(2026, 10, 20, 9, 15);
  const markup = `${code('purchase-watch status <id_1>', 60)}\n${moment(at)}, ${day(at)}`;
  expect(markdown(markup)).toBe('purchase-watch status &lt;id\\_1&gt;\n\n2026-11-20 09:15 UTC, 2026-11-20');
});

/** What a value may hold that Markdown, HTML or a client of Teams gives a meaning. */
const SIGNS = [
  ...[
    '<at>',
    '</at>',
    '<b>',
    '<!--',
    '&',
    '&lt;',
    '&#60;',
    'https://evil.example',
    'www.evil.example',
    'kim@evil.example',
    'mailto:kim@x',
  ],
  ...[
    '[x](',
    ')',
    '![',
    ']',
    '**',
    '__',
    '_',
    '~~',
    '`',
    '\\',
    '#',
    '- ',
    '+ ',
    '1. ',
    '> ',
    '|',
    '---',
    '===',
    '{{DATE(',
    ' ',
    '    ',
    'a',
    '<',
  ],
];
const PAGE = 'https://watch.example/incidents/inc_7';

/** Kinds of what a reader of Markdown with all that GitHub adds to it finds, but for plain text, and where links lead. */
function meanings(text: string): string[] {
  const found: string[] = [];
  const tokens: Token[] = marked.lexer(text, { gfm: true });
  marked.walkTokens(tokens, (token) => {
    if (token.type === 'link') found.push(`link ${token.href}`);
    else if (!['paragraph', 'text', 'escape', 'space'].includes(token.type)) found.push(token.type);
  });
  return found;
}

test('no value makes markup, a link or a mention, and each is shown as it was written', () => {
  const value = fc.array(fc.constantFrom(...SIGNS), { minLength: 1, maxLength: 12 }).map((signs) => signs.join('').trim());
  fc.assert(
    fc.property(value, (text) => {
      for (const markup of [plain(text, 2_000), code(text, 2_000), `${plain(text, 2_000)}\n${plain(text, 2_000)}`])
        expect(meanings(markdown(markup))).toEqual([]);
      expect(meanings(markdown(linked(PAGE, plain(text, 2_000))))).toEqual([`link ${PAGE}`]);
      const shown = String(marked.parse(markdown(plain(text, 2_000)), { async: false }));
      const read = shown.replace(/<\/?p>|\u200b/g, '').replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => ENTITIES[name]!);
      expect(read.replace(/\s+/g, ' ').trim()).toBe(text.replaceAll('`', "'").replace(/\s+/g, ' ').trim());
    }),
    { numRuns: 3_000, seed: 31 },
  );
});
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };

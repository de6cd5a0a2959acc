import { expect, test } from 'vitest';
import { code, day, moment, plain } from '../../../src/channels/people/messages/mrkdwn.ts';
import { markdown, plainText } from '../../../src/channels/teams/markdown.ts';

test.each([
  ['emphasis', '*bold* _it_ ~gone~', '\\*bold\\* \\_it\\_ \\~gone\\~'],
  ['a link', '[our bank](https://evil.example)', '\\[our bank\\]\\(https://evil.example\\)'],
  ['a heading', '# big', '\\# big'],
  ['a list', '- one', '\\- one'],
  ['a numbered list', '1. one', '1\\. one'],
  ['a quotation', '> said', '\\> said'],
  ['a backslash before a mark', '\\*', '\\\\\\*'],
  ['a function of cards', '{{DATE(2026-11-20T09:15:00Z)}}', '{\u200b{DATE\\(2026-11-20T09:15:00Z\\)}}'],
  ['a mention', '<at>Everybody</at> & all', '<at>Everybody</at> & all'],
])('%s that somebody wrote into a value stays what it was written as', (_, value, shown) => {
  expect(markdown(plain(value, 200))).toBe(shown);
  expect(plainText(plain(value, 200))).toBe(value);
});

test('code is text, dates are in UTC, and each line is a paragraph', () => {
  const at = Date.UTC(2026, 10, 20, 9, 15);
  const markup = `${code('purchase-watch status <id_1>', 60)}\n${moment(at)}, ${day(at)}`;
  expect(markdown(markup)).toBe('purchase-watch status <id\\_1>\n\n2026-11-20 09:15 UTC, 2026-11-20');
});

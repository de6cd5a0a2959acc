import { describe, expect, test } from 'vitest';
import { cut, plain } from '../../../src/channels/people/messages/mrkdwn.ts';
import { inert, layOut } from '../../../src/channels/slack/layout.ts';
import { messageProblem } from '../../support/slack-stand-in.ts';

const draft = { headline: 'Head', facts: [], paragraphs: [] };

test('the text says the same as the blocks, its first line the headline', () => {
  const made = layOut({
    ...draft,
    facts: [['Site', 'se']],
    paragraphs: [['What to do', 'This.\nAnd that.']],
    notes: [['More']],
  });
  expect(made.text).toBe('Head\nSite: se\n*What to do*\nThis.\nAnd that.\nMore');
  expect(made.blocks).toEqual([
    { type: 'header', text: { type: 'plain_text', text: 'Head' } },
    { type: 'section', fields: [{ type: 'mrkdwn', text: '*Site*\nse', verbatim: true }] },
    { type: 'section', text: { type: 'mrkdwn', text: '*What to do*\nThis.\nAnd that.', verbatim: true } },
    { type: 'context', elements: [{ type: 'mrkdwn', text: 'More', verbatim: true }] },
  ]);
});

test('what yields first becomes shorter and then goes, before what yields later', () => {
  const paragraphs = [
    ['First', 'a'.repeat(2_000), { order: 1, shorter: ['b'.repeat(1_500)] }],
    ['Second', 'c'.repeat(2_000), { order: 2, shorter: ['d'.repeat(900)] }],
    ['Never', 'e'.repeat(500)],
  ] as const;
  const of = (never: number): string[] =>
    layOut({ ...draft, paragraphs: [...paragraphs.slice(0, 2), ['Never', 'e'.repeat(never)]] })
      .text.replace(/(.)\1+/g, '$1')
      .split('\n')
      .filter((line) => /^[a-e]$/.test(line));
  expect(of(100)).toEqual(['b', 'c', 'e']);
  expect(of(500)).toEqual(['c', 'e']);
  expect(of(2_500)).toEqual(['d', 'e']);
  expect(of(3_500)).toEqual(['e']);
});

test.each([
  ['see http://evil.example/login', 'see http:\u200b//evil.\u200bexample/login'],
  ['mail a@evil.example', 'mail a@\u200bevil.\u200bexample'],
  ['@here :tada: :wave::skin-tone-2:', '@\u200bhere :\u200btada: :\u200bwave::\u200bskin-tone-2:'],
  ['<https://watch.example/p/a:b:c|ORD:fire:1>, `x`', '<https://watch.example/p/a:b:c|ORD:\u200bfire:1>, `x`'],
  ['1 200.50 SEK at 10:15. Next', '1 200.50 SEK at 10:15. Next'],
])('without blocks, %j has no address, mention or emoji but the links that are marked', (text, parted) => {
  expect(inert(text)).toBe(parted);
  expect(inert('a.bc'.repeat(2_000)).length).toBeLessThanOrEqual(4_000);
});

test('a draft of any size is within all limits of Slack', () => {
  const many = Array.from({ length: 200 }, (_, index) => [`Label ${index}`, `&lt;${'x'.repeat(5_000)}`] as const);
  const notes = many.map(([label]) => [label] as const);
  const made = layOut({ headline: '&amp;'.repeat(100), facts: many, paragraphs: many, notes });
  expect(messageProblem(made)).toBeNull();
  expect(made.blocks).toHaveLength(50);
});

test.each([
  ['se', 2, 'se'],
  ['sea', 2, 's…'],
  ['a&b', 7, 'a&amp;b'],
  ['a&b', 6, 'a…'],
  ['a🦊🦊', 4, 'a🦊…'],
  ['a\u0000\u202eb', 9, 'a b'],
])('a value %j of at most %i characters is shown as %j', (value, longest, expected) => {
  expect(plain(value, longest)).toBe(expected);
});

describe('cutting', () => {
  test('takes whole lines off', () => {
    expect(cut('one\ntwo\nthree', 13)).toBe('one\ntwo\nthree');
    expect(cut('one\ntwo\nthree', 12)).toBe('one\ntwo\n…');
  });

  test.each([
    ['an escape', 'aaaa&amp;bbbb', 8, 'aaaa…'],
    ['a link', 'aa <https://x.example|there> b', 20, 'aa …'],
    ['a character', 'aaa🦊🦊🦊', 8, 'aaa🦊…'],
    ['a piece of code', '`abcdefghij`', 8, '`abcde`…'],
  ])('does not cut through %s', (_, markup, longest, expected) => {
    expect(cut(markup, longest)).toBe(expected);
  });
});

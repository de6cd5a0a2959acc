/** How `npm run readability` counts sentences. */
import { expect, test } from 'vitest';
import { figures, sentencesOf } from '../../tools/readability.ts';

const PAGE = `# A heading. It counts for nothing

The daemon polls \`a.b\` e.g. Every minute. It rests
for 1.5 s.

\`\`\`sh
It is code. It is left out.
\`\`\`

| name | what |
|---|---|
| one | This is bare. This page is not. |

- One item
- [What](x.md) comes
`;

test('sentences come from paragraphs, cells and list items, with their lines and bare pronouns', () => {
  expect(sentencesOf(PAGE).map(({ text, line, words, bare }) => [line, words, bare, text])).toEqual([
    [3, 7, false, 'The daemon polls a.b e.g. Every minute.'],
    [3, 5, true, 'It rests for 1.5 s.'],
    [10, 1, false, 'name'],
    [10, 1, true, 'what'],
    [12, 1, false, 'one'],
    [12, 3, true, 'This is bare.'],
    [12, 4, false, 'This page is not.'],
    [14, 2, false, 'One item'],
    [15, 2, true, 'What comes'],
  ]);
});

test('the score adds the words in long sentences to the bare beginnings, in per cent', () => {
  const long = { text: '', line: 1, words: 60, bare: false };
  const short = { text: '', line: 1, words: 20, bare: true };
  expect(figures([long, short, short, short])).toMatchObject({ long: 25, bare: 3, score: 125 });
  expect(figures([]).score).toBe(0);
});

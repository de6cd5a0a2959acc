/** Ids that are refused, by a part of the problem. */
export const REFUSED: readonly (readonly [problem: string, ids: readonly string[]])[] = [
  [
    'is what a spreadsheet shows',
    [
      ...[
        '#N/A',
        '#REF!',
        '#VALUE!',
        '#DIV/0!',
        '#NAME?',
        '#NV',
        '#N/D',
        '#SAKNAS!',
        '#PUUTTUU!',
        '#BEZUG!',
        '#ЗНАЧ!',
        '#######',
      ],
      ...['#AB/C', '#А/БВ'],
    ],
  ],
  ['is a number that a spreadsheet rounded', ['1.23E+15', '1,23E+15', '1E+15', '-1.5e+20']],
  ['is the title of a column', ['purchase_id', 'Purchase ID', 'PURCHASE-ID', 'purchaseid']],
  ['begins or ends with a quotation mark', ['"a1"', "'a1", '\u201ca1\u201d', '\u201ea1\u201c', '\u00aba1\u00bb', 'a1"', '="a1"']],
  ['holds a separator of columns', ['a1;O1', 'a1|O1', 'a1,O1', 'sep=;']],
  ['is . or .., which no web address can hold', ['.', '..']],
  ['(U+200B); type or copy the id without it', ['a\u200b1']],
  ['(U+00A0); type or copy the id without it', ['a\u00a01']],
];

/** Ids that only look a little like these. */
export const TAKEN: readonly string[] = [
  ...['3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', '93810e12', '1e15', '3E5', 'a1E+15', '1E+15a', 'urn:uuid:1'],
  ...['#a', 'a#NV', '#NVa', 'NV', '...', 'a.', 'a b', "a'b", 'a=b', 'ID', 'my purchase id', 'purchase id 7', '漢'],
];

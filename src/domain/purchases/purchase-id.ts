/** Which texts may be the id of a purchase: every door asks here, and the trigger `refuse_odd_id` says the same in SQL. */
import { lineProblem } from '../values/one-line.ts';

const PURCHASE_ID = 'the Purchase ID that the checkout service gave';
const UNSEEN = /(?! )[\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const QUOTES = `["'\u2018-\u201f\u00ab\u00bb\u2039\u203a]`;

/** Texts that no service gives as an id, and what spreadsheets make of ids. */
const NEVER_IDS: readonly (readonly [RegExp, problem: string])[] = [
  [/^\.\.?$/, `is . or .., which no web address can hold; give ${PURCHASE_ID}`],
  [/^purchase[ _-]?id$/i, 'is the title of a column; give the Purchase ID below it'],
  [new RegExp(`^${QUOTES}|${QUOTES}$`), 'begins or ends with a quotation mark; leave it out'],
  [
    /^-?\d([.,]\d+)?E\+\d+$/i,
    'is a number that a spreadsheet rounded, so the Purchase ID is lost; format the column as text and fill it again',
  ],
  [/[,;|]/, 'holds a separator of columns (, ; or |); give the Purchase ID alone'],
  [
    /^#([A-Z\u00c0-\u00de\u0400-\u042f\d/]+[!?]|[A-Z\u0400-\u042f]+\/[A-Z\u0400-\u042f]+|NV|#+)$/,
    `is what a spreadsheet shows in the place of a value; give ${PURCHASE_ID}`,
  ],
];

/** The problem with the id of a purchase that may be registered already, or null. */
export function idProblem(value: string): string | null {
  return (
    lineProblem(value, PURCHASE_ID) ??
    (value === value.trim() ? null : `begins or ends with a space; give ${PURCHASE_ID} and nothing around it`)
  );
}

/** The problem with the id of a purchase to register, or null. Purchases that were registered with such an id before stay. */
export function newIdProblem(value: string): string | null {
  const unseen = UNSEEN.exec(value)?.[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
  return (
    idProblem(value) ??
    (unseen === undefined ? null : `holds a character that cannot be seen (U+${unseen}); type or copy the id without it`) ??
    NEVER_IDS.find(([form]) => form.test(value))?.[1] ??
    null
  );
}

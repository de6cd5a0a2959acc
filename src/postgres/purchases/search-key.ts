/**
 * Finding by the beginning of a name, in any case. The expression is that of the indexes of 0027_purchase_list.sql: in a database of any
 * collation it compares bytes, and what lower() of another collation would make of a letter does not matter.
 */
import type { Fragment, Queries } from '../connection/database.ts';

/** Letters beyond ASCII with a lower case of one letter: Latin, Greek and Cyrillic. */
const UPPER =
  'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯẞ';
const LOWER =
  'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяß';

/** The order reference of stored fields `d`. */
export const ORDER = `purchase_watch_internal.stored_text(d.fields, 'OrderReference')`;

/** SQL for the key of a text; `expression` is SQL, such as `p.purchase_id`. */
export const keyOf = (expression: string): string =>
  `(case when octet_length(${expression}) = length(${expression}) then lower(left(${expression}, 200) collate "C")
    else translate(lower(left(${expression}, 200) collate "C"), '${UPPER}', '${LOWER}') end)`;

/** No text that begins with a key is beyond the key with this character behind it. */
const BEYOND = '\u{10ffff}';

/** Whether the text of an SQL expression begins as `beginning` does, whatever the case; wildcards of LIKE mean themselves. */
export function beginsAs(sql: Queries, expression: string, beginning: string): Fragment {
  const key = sql.unsafe(keyOf(expression));
  const asked = [...beginning].map((letter) => lowered(letter)).join('');
  return sql`(${key} >= ${asked} and ${key} < ${asked + BEYOND})`;
}

function lowered(letter: string): string {
  if (letter <= '\u007f') return letter.toLowerCase();
  return LOWER[UPPER.indexOf(letter)] ?? letter;
}

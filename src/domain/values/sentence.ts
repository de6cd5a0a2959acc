/** Sentences within others. */

/** A sentence without its full stop, to go on with. */
export const clause = (sentence: string): string => sentence.replace(/\.$/, '');

/** A reason behind what it is the reason of: ` (no route to it)`; empty where none is known. */
export const inBrackets = (reason: string | null): string => (reason === null ? '' : ` (${clause(reason)})`);

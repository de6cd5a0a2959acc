/** Counts as people are shown them. */

/** The thousands of a decimal number apart: `1249.5` as `1 249.50`, because JSON drops the last nought; any other text as it is. */
export function apart(amount: string): string {
  const [, sign = '', integer = '', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(amount) ?? [];
  const decimals = rest.length === 2 ? `${rest}0` : rest;
  return integer === '' ? amount : `${sign}${integer.replace(/(?<=\d)(?=(\d{3})+$)/g, ' ')}${decimals}`;
}

/** A count with its thousands apart: `12 000`; `at least 1 000` where counting ended at `countedTo`. */
export function grouped(count: number, countedTo: number | null = null): string {
  return `${countedTo !== null && count >= countedTo ? 'at least ' : ''}${apart(String(count))}`;
}

/** The same with a noun: `1 purchase`, `12 000 purchases`. */
export function counted(count: number, noun: string, plural = `${noun}s`, countedTo: number | null = null): string {
  return `${grouped(count, countedTo)} ${count === 1 ? noun : plural}`;
}

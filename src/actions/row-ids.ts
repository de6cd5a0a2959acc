/** Ids as people and programs write them: a kind and the number of a row, such as `dlv_42`. */
import type { Checked } from './subscribers/rules.ts';

const THINGS = { act: 'an action', dlv: 'a delivery', mrk: 'a mark', ses: 'a session', sil: 'a silence' } as const;

/** Reads ids of a kind as the numbers of their rows. */
export function rowIdOf(kind: keyof typeof THINGS): (value: string) => Checked<number> {
  const [article, thing] = THINGS[kind].split(' ');
  return (value) => {
    const id = value.startsWith(`${kind}_`) && /^[1-9]\d{0,15}$/.test(value.slice(4)) ? Number(value.slice(4)) : Number.NaN;
    return Number.isSafeInteger(id)
      ? { is: id }
      : { problem: `is not ${article} ${thing} id; ${thing} ids look like ${kind}_42` };
  };
}

/** A silence's id as people and programs see it. */
export function silenceName(id: number): string {
  return `sil_${id}`;
}

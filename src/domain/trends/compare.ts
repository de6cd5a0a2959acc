/** Whether two shares differ beyond chance. Pure. */

/** Of how many customers it is known, and how many of them paid. */
export interface Share {
  readonly customers: number;
  readonly paid: number;
}

/** `too_few`: nothing can be said. `as_before`: chance alone makes such a difference often enough. */
export type ShareChange = 'too_few' | 'as_before' | 'better' | 'worse';

/** A share of fewer customers says nothing. */
const FEWEST = 30;
/** How often chance alone may make a difference that is named, over all differences that are looked at. */
const BY_CHANCE = 0.01;

/** Customers of several shares together. */
export const addedShares = (shares: readonly Share[]): Share => ({
  customers: shares.reduce((sum, { customers }) => sum + customers, 0),
  paid: shares.reduce((sum, { paid }) => sum + paid, 0),
});

/** The share that paid, from 0 to 1; null of fewer customers than say something. */
export const shareOf = ({ customers, paid }: Share): number | null => (customers < FEWEST ? null : paid / customers);

/**
 * Compares a share with one of before, by the test of two proportions (z, with the pooled share). `looks` is how many such
 * comparisons are made together: each may then err more rarely (Bonferroni).
 */
export function changeOf(now: Share, before: Share, looks = 1): ShareChange {
  const [share, earlier] = [shareOf(now), shareOf(before)];
  if (share === null || earlier === null) return 'too_few';
  const pooled = (now.paid + before.paid) / (now.customers + before.customers);
  const error = Math.sqrt(pooled * (1 - pooled) * (1 / now.customers + 1 / before.customers));
  const isByChance = error === 0 || bothTails(Math.abs(share - earlier) / error) >= BY_CHANCE / looks;
  if (isByChance) return 'as_before';
  return share > earlier ? 'better' : 'worse';
}

/** How likely a normally distributed value is this many standard deviations or more from its mean, on either side. Formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions; its error is below 2e-7. */
function bothTails(deviations: number): number {
  const x = deviations / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return series * Math.exp(-x * x);
}

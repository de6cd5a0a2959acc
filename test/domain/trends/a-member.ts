import type { Member, MemberOutcome } from '../../../src/domain/trends/aftermath.ts';

/** A purchase of site `se` that came at a moment and was stuck at the card provider nine milliseconds later; in SEK where it has a price. */
export const aMember = (customer: string, came: number, outcome: MemberOutcome, price: string | null = null): Member => ({
  ...{ customer, came, outcome, price, currency: price === null ? null : 'SEK' },
  ...{
    site: 'se',
    state: 6,
    stuckAt: came + 9,
    leftAt: null,
    purchaseId: `${customer}-${came}`,
    reference: null,
    orderReference: null,
  },
  ...{ endState: null, endedAt: null, isWatched: outcome === 'open' },
});

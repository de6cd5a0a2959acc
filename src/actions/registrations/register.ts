/** Registering purchases, and when first polls come. */
export { MOST_SINGLE, type Registration, register } from '../../postgres/purchases/purchases.ts';
export { firstPolls } from '../../postgres/reports/first-polls.ts';

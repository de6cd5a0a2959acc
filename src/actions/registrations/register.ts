/** Registering purchases. */
export { MOST_SINGLE, type Registration, register } from '../../postgres/purchases/purchases.ts';

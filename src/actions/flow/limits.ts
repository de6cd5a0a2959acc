/** Limits as they are learned from customers who got on. */
export { learnedLimits } from '../../postgres/stays/limits.ts';

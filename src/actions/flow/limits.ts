/** When stays become stuck: limits of the settings, and those that are learned from customers who got on. */
export { createLimits, type Limits, learnedLimits } from '../../postgres/stays/limits.ts';

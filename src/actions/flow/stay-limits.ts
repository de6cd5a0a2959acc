/** When stays become stuck: limits of the settings, and those that are learned from customers who got on. */
export { createStayLimits, learnedLimits, type StayLimits } from '../../postgres/stays/limits.ts';

/** Random numbers of the process. Every other room takes them from here, as it takes time from `time.ts` (decision 39). */
export { randomBytes, randomInt, randomUUID } from 'node:crypto';

/** A number in [0, 1), for spreading work; never for secrets. */
export const random = (): number => Math.random();

/** From the commit of an event to its receipt: at a constant rate, beside subscribers in trouble, after an outage. */
import type { Bench } from '../bench.ts';
import { isolation } from './isolation.ts';
import { outage } from './outage.ts';
import { RATE, steady } from './steady.ts';

export const deliver: Bench = async (lab, options) => {
  await lab.service.ask('reset');
  const rows = [...(await steady(lab, options)), ...(await isolation(lab, options)), ...(await outage(lab, options))];
  return {
    bench: 'deliver',
    how: `${RATE} events a second committed on schedule by a process of their own, whatever becomes of them`,
    rows,
  };
};

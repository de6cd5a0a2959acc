/** Customers of the demo, who come by themselves: on a good day, and many at once to a page that was just broken or mended. */
import type { Control } from '../../../packages/simulator/src/contract/control.ts';
import { startInterval } from '../../runtime/time.ts';
import { BROKEN_SITE } from './settings.ts';

/** The site and the steps of a customer. */
export type CustomerLife = Pick<NonNullable<Parameters<Control['add']>[0]>, 'site' | 'script'>;

/** Lives of customers on a good day; drawn ones would abandon their purchase just when it spoils the plot. */
export const GOOD_DAY: readonly CustomerLife[] = [
  { site: 'demo-se', script: 'card-paid' },
  { site: 'demo-fi', script: 'invoice-eid-app' },
  { site: 'demo-se', script: 'mobile-payment' },
  { site: 'demo-fi', script: 'card-paid' },
  { site: 'demo-se', script: 'invoice-identity-provider' },
  { site: 'demo-fi', script: 'finnish-direct-payment' },
];

/** A customer who is quick at the form and then needs the page: at the site whose pages break. */
export function quickLife(state: string): CustomerLife {
  const script = [
    { state: 'New' },
    { state: 'BeingProcessed', after: '20s' },
    { state, after: '40s' },
    { state: 'Completed', after: '60s' },
  ];
  return { site: BROKEN_SITE, script };
}

/** Lets customers arrive one after the other, each living the next of these lives; `every` is in milliseconds, `most` how many come. */
export function sendCustomers(
  control: Control,
  lives: readonly CustomerLife[],
  { every, most = Number.POSITIVE_INFINITY }: { every: number; most?: number },
) {
  let next = 0;
  const send = (): void => {
    control.add(lives[next % lives.length]);
    next += 1;
    if (next >= most) clearInterval(timer);
  };
  const timer = startInterval(send, every);
  send();
  return { stop: () => clearInterval(timer) };
}

/** `incidents customers`: the customers who wait in an incident, and how the stays of those who came ended. */

import { readClock } from '../../actions/database.ts';
import { customersIn } from '../../actions/incidents/customers.ts';
import { STAY_FATES, type StayFate } from '../../domain/incidents/customers.ts';
import { sliceWords } from '../../domain/incidents/slice.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { apart, counted } from '../../domain/values/counts.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { printable, printJson, printLine } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';
import { INCIDENT_ID } from './care-options.ts';

type Customers = Awaited<ReturnType<typeof customersIn>>;

export const customers = onDatabase(
  {
    summary: 'show who waits in one, with the money that waits, and what became of those who came',
    arguments: [INCIDENT_ID],
    options: [JSON_OPTION],
  },
  async (context, { id, json }, { sql }) => {
    const found = await customersIn(sql, id);
    if (json) return printJson(context, found);
    const { data, counted: count, atLeast, waiting, unpriced } = found;
    if (count === 0) printLine(context, `No purchase is stuck in ${id} now.`);
    else {
      const { now } = await readClock(sql);
      printLine(context, `${counted(count, 'purchase')}${atLeast ? ' or more' : ''} stuck now, the longest waiting first`);
      printTable(context, data, {
        purchase: ({ purchaseId }) => purchaseId,
        site: ({ site }) => site,
        state: ({ state }) => stateBoth(state.value),
        order: ({ reference, orderReference }) => reference ?? orderReference,
        amount: ({ price, currency }) => (price === null ? null : `${apart(price)} ${currency ?? ''}`.trim()),
        'there since': ({ stateSince }) => relative(Date.parse(stateSince), now),
        'stuck since': ({ stuckSince }) => relative(Date.parse(stuckSince), now),
      });
      const sums = waiting.map(({ amount, currency }) => `${apart(amount)} ${currency}`).join(', ');
      const unknown = unpriced === 0 ? '' : `; ${counted(unpriced, 'order')} without a known amount`;
      printLine(context, `\nMoney waiting: ${atLeast ? 'at least ' : ''}${sums === '' ? 'not known' : sums}${unknown}`);
      if (count > data.length) printLine(context, `${count - data.length}${atLeast ? ' or more' : ''} more are not listed.`);
    }
    if (found.slice !== null) {
      const { inside, elsewhere } = found.slice;
      const stuck = `${inside.stuck} of ${counted(inside.came, 'customer')} got stuck, elsewhere ${elsewhere.stuck} of ${elsewhere.came}`;
      printLine(context, printable(`Narrowed down to: ${sliceWords(found.slice)} (${stuck})`));
    }
    printFates(context, found);
  },
);

const FATES: Readonly<Record<StayFate, string>> = {
  well: 'got on in time',
  other: 'left in time otherwise',
  overdue: 'still there, stuck',
  late: 'left after the limit',
  open: 'not known yet',
};

/** How the stays of customers ended who came to the state around the incident's beginning. */
function printFates(context: CliContext, { came }: Customers): void {
  if (came === null || came.stays.length === 0) return;
  const time = (iso: string): string => iso.slice(0, 16).replace('T', ' ');
  const only = came.isComplete ? '' : ', of the purchases registered last';
  printLine(context, `\nCame from ${time(came.from)} to ${time(came.until)} UTC${only}:`);
  for (const fate of STAY_FATES) {
    const count = came.stays.filter((stay) => stay.fate === fate).length;
    if (count > 0) printLine(context, `  ${count} ${FATES[fate]}`);
  }
  const last = came.share.at(-1);
  if (last !== undefined) printLine(context, `${last.overdue} of the latest ${last.of} customers got stuck.`);
}

/** Repairs a purchase whose row disagrees with its last announced transition, so that no change of it can be recorded. */

import { repaired } from '../../domain/deciding/repair.ts';
import type { Purchase } from '../../domain/purchases/purchase.ts';
import { namedState } from '../../domain/purchases/states.ts';
import { readHistory, writeRepaired } from '../../postgres/polling/repair.ts';
import type { Deps } from '../deps.ts';
import type { DecidedPoll } from './locked-rows.ts';

type RepairOptions = Pick<Deps, 'sql' | 'log' | 'meters' | 'replica' | 'policyFor'>;

const DETAIL =
  'The stored purchase disagreed with its last announced transition, and the database refused every change of it. It was set back to that transition and is polled on; nothing needs to be done.';

/** A function that answers whether it repaired the purchase of a poll that the database refused. It never rejects. */
export function createRepair({ sql, log, meters, replica, policyFor }: RepairOptions): (poll: DecidedPoll) => Promise<boolean> {
  return async ({ entry: { purchase, epoch } }) => {
    const { site, purchaseId, shard } = purchase;
    try {
      const found = await readHistory(sql, purchase);
      if (found === null) return false;
      const after = repaired(found.row, found.history, policyFor(site));
      if (after === null || !(await writeRepaired(sql, after, { replica, holding: { shard, epoch } }))) return false;
      meters.site(site).repairs += 1;
      log.error({ site, purchaseId, was: shown(found.row), is: shown(after), detail: DETAIL }, 'purchase.repaired');
      return true;
    } catch (error) {
      log.warn({ error, site, purchaseId }, 'purchase.not_repaired');
      return false;
    }
  };
}

function shown({ status, state, sequence }: Purchase) {
  return { status, state: state === null ? null : namedState(state).name, sequence };
}

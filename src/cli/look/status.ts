/** `status`: how everything is, or one purchase. */

import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { findPurchase } from '../purchases/purchase.ts';
import { showPurchase } from '../purchases/show-purchase.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { type OpenDatabase, withDatabase } from '../terminal/database.ts';
import { redraw } from '../terminal/redraw.ts';
import { showOverview } from './show-overview.ts';
import { showThen } from './show-then.ts';

/** Between two looks of `--watch`. */
const WATCH_EVERY: Milliseconds = 2_000;

export const register = declare(
  {
    description:
      'Without an id: sites, purchases by status and state, what is stuck, open incidents, whether polling keeps up, daemons and subscribers. With an id: what is known of the purchase, its changes, and who got its events.',
    arguments: [['[id]', 'a Purchase ID']],
    options: [
      ['--site <name>', 'only this site'],
      ['--at <time>', 'how it was at a time of the last 14 days: with its zone, or how long ago, such as 2h'],
      ['-w, --watch', 'show it again every 2 seconds, until Ctrl-C'],
      ['--json', 'write JSON; without an id what GET /v1/overview answers, with --at what GET /v1/then does'],
    ],
    examples: [
      ['status', 'the whole picture'],
      ['status 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'one purchase'],
      ['status --watch', 'see how it goes on'],
      ['status --at 2026-11-20T20:00Z', 'how it was then'],
      ['status --json | jq .headline.needs', 'for programs'],
    ],
  },
  async (context, { id, site, at, watch, json }) => {
    if (watch && json) throw new AppError('invalid', '--watch: not with --json; programs call the command again');
    if (at !== undefined && (watch || id !== undefined))
      throw new AppError('invalid', `--at: not with ${watch ? '--watch' : 'an id'}; it shows how everything was at one time`);
    const work = async (database: OpenDatabase): Promise<void> => {
      const show = async (shown: CliContext): Promise<void> => {
        if (at !== undefined) return showThen(shown, database, { at, site, json });
        if (id === undefined) return showOverview(shown, database, { site, json });
        return showPurchase(shown, database, await findPurchase(database.sql, { purchaseId: id, site }), json);
      };
      return watch ? redraw(context, WATCH_EVERY, show) : show(context);
    };
    await withDatabase(context, work, { restsOn: id === undefined ? [] : ['polling'] });
  },
);

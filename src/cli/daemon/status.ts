/** `status`: how everything is, or one purchase. */

import type { Command } from 'commander';
import { AppError } from '../../domain/values/errors.ts';
import type { Milliseconds } from '../../domain/values/time.ts';
import { findPurchase } from '../purchases/purchase.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { redraw } from '../terminal/redraw.ts';
import { showOverview } from './show-overview.ts';

interface StatusOptions {
  readonly site?: string;
  readonly json?: true;
  readonly watch?: true;
}

/** Between two looks of `--watch`. */
const WATCH_EVERY: Milliseconds = 2_000;

async function status(
  context: CliContext,
  purchaseId: string | undefined,
  { site, json: asJson, watch }: StatusOptions,
): Promise<void> {
  const json = asJson === true;
  if (watch && json) throw new AppError('invalid', '--watch: not with --json; programs call the command again');
  await withDatabase(
    context,
    async ({ sql, url, settings }) => {
      const show = async (shown: CliContext): Promise<void> => {
        if (purchaseId === undefined) return showOverview(shown, sql, { site, json, settings, url });
        // It builds the API's body of a purchase, whose schemas take longer to load than all that the overview needs.
        const { showPurchase } = await import('../purchases/show-purchase.ts');
        return showPurchase(shown, sql, await findPurchase(sql, { purchaseId, site }), { json, policy: settings.policy });
      };
      return watch ? redraw(context, WATCH_EVERY, show) : show(context);
    },
    { restsOn: purchaseId === undefined ? [] : ['polling'] },
  );
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Without an id: sites, purchases by status and state, what is stuck, open incidents, whether polling keeps up, daemons and subscribers. With an id: what is known of the purchase, its changes, and who got its events.',
    )
    .argument('[id]', 'a Purchase ID')
    .option('--site <name>', 'only this site')
    .option('-w, --watch', 'show it again every 2 seconds, until Ctrl-C')
    .option('--json', 'write JSON, with exact times')
    .action((id: string | undefined, options: StatusOptions) => status(context, id, options));
  examples(command, [
    ['status', 'the whole picture'],
    ['status 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'one purchase'],
    ['status --watch', 'see how it goes on'],
    ['status --json | jq .headline.needs', 'for programs'],
  ]);
}

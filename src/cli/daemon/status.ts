/** `status`: how everything is, or one purchase. */

import type { Command } from 'commander';
import { findPurchase } from '../purchases/purchase.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { showOverview } from './show-overview.ts';

interface StatusOptions {
  readonly site?: string;
  readonly json?: true;
}

async function status(context: CliContext, purchaseId: string | undefined, { site, json: asJson }: StatusOptions): Promise<void> {
  const json = asJson === true;
  await withDatabase(context, async ({ sql, settings: { policy } }) => {
    if (purchaseId === undefined) {
      return showOverview(context, sql, { site, json });
    }
    // It builds the API's body of a purchase, whose schemas take longer to load than all that the overview needs.
    const { showPurchase } = await import('../purchases/show-purchase.ts');
    return showPurchase(context, sql, await findPurchase(sql, { purchaseId, site }), { json, policy });
  });
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Without an id: sites and whether they answer, purchases by status and state, what is stuck, open incidents, whether polling keeps up, daemons and subscribers. With an id: what is known of the purchase, how it changed, and who got its events.',
    )
    .argument('[id]', 'a Purchase ID')
    .option('--site <name>', 'only this site')
    .option('--json', 'write JSON, with exact times')
    .action((id: string | undefined, options: StatusOptions) => status(context, id, options));
  examples(command, [
    ['status', 'the whole picture'],
    ['status 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'one purchase'],
    ['status --json | jq .stuck', 'for programs'],
  ]);
}

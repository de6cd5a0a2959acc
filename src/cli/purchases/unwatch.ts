/** `unwatch`: stops watching a purchase. */

import type { Command } from 'commander';
import { stopPurchase } from '../../postgres/purchases/purchases.ts';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { withDatabase } from '../terminal/database.ts';
import { printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { findPurchase } from './purchase.ts';

interface UnwatchOptions {
  readonly site?: string;
  readonly json?: true;
}

async function unwatch(context: CliContext, purchaseId: string, { site, json }: UnwatchOptions): Promise<void> {
  await withDatabase(context, async ({ sql }) => {
    const purchase = await findPurchase(sql, { purchaseId, site });
    await stopPurchase(sql, purchase);
    await recordCommand(sql, 'unwatch', { id: purchaseId, site: purchase.site });
    const was = purchase.status;
    if (json) return printJson(context, { purchaseId, site: purchase.site, status: 'stopped', was });
    const text =
      was === 'stopped'
        ? `${purchaseId} at site ${purchase.site} was stopped already`
        : `stopped ${purchaseId} at site ${purchase.site}; what is known of it stays, and "watch" takes it up again`;
    printLine(context, text);
  });
}

/** Declares the command. */
export function register(command: Command, context: CliContext): void {
  command
    .description('Stops polling a purchase. What is known of it stays.')
    .argument('<id>', 'its Purchase ID')
    .option('--site <name>', 'the site, when several have this id')
    .option('--json', 'write JSON')
    .action((id: string, options: UnwatchOptions) => unwatch(context, id, options));
  examples(command, [['unwatch 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'no more polls']]);
}

/** `forget`: erases a purchase and everything that is known of it. */

import type { Sql } from '../../actions/database.ts';
import {
  type ErasedCounts,
  type ErasePlan,
  erasePurchase,
  erasures,
  OUT_OF_REACH,
  planErasing,
  type Remark,
  whyNotErased,
} from '../../actions/purchases/forget.ts';
import type { PurchaseRow } from '../../actions/purchases/purchases.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { isoTime } from '../../domain/values/time.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { confirm } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { counted, printable, printJson, printLine } from '../terminal/output.ts';
import { accountName, recordCommand } from '../terminal/record.ts';
import { findPurchase } from './purchase.ts';

const ASKING = {
  question: 'Erase all this? It cannot be undone.',
  otherwise: 'erasing cannot be undone: say --yes to do it, or --dry-run to see what would be erased',
  refused: 'nothing was erased',
};

export const register = onDatabase(
  {
    description:
      'Erases a purchase: its row, fields, transitions, events, deliveries and attempts, and what else names its id. One row of purchase_watch_internal.forgotten keeps when and by whom, without the id. Works while daemons run.',
    arguments: [['<id>', 'its Purchase ID']],
    options: [
      ['--site <name>', 'the site, when several have this id'],
      ['--yes', 'do not ask'],
      ['--dry-run', 'show what would be erased, and erase nothing'],
      JSON_OPTION,
    ],
    examples: [
      ['forget 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --dry-run', 'what there is'],
      ['forget 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'asks first'],
      ['forget 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --yes', 'for scripts'],
    ],
  },
  async (context, { id: purchaseId, site, yes, dryRun, json }, { sql }) => {
    const purchase = await findOrSayErased(sql, purchaseId, site);
    const plan = await planErasing(sql, purchase);
    const { counts, remarks } = plan;
    if (!json) {
      printPlan(context, purchase, counts);
      printRemarks(context, plan);
    }
    if (dryRun) {
      if (json) return printJson(context, { purchaseId, site: purchase.site, erased: false, counts, remarks });
      return printLine(context, 'Nothing was erased (--dry-run).');
    }
    if (!yes) await confirm(context, { ...ASKING, json });
    const at = await erasePurchase(sql, purchase, { by: `user ${accountName()}`, counts });
    if (at === null) {
      const text = (await whyNotErased(sql, purchase)) ?? `${purchaseId} was erased or deleted by another command meanwhile`;
      throw new AppError('unavailable', text);
    }
    await recordCommand(sql, 'forget', { site: purchase.site });
    if (json)
      return printJson(context, {
        purchaseId,
        site: purchase.site,
        erased: true,
        at: isoTime(at),
        counts,
        remarks,
        outOfReach: OUT_OF_REACH,
      });
    printLine(context, `Erased at ${isoTime(at)}. One line in purchase_watch_internal.forgotten says so, without the id.`);
    printLine(context, 'Out of reach of this command:');
    for (const place of OUT_OF_REACH) printLine(context, `- ${place}`);
  },
);

/** The purchase; or an AppError that says when it was erased, or why there is none. */
async function findOrSayErased(sql: Sql, purchaseId: string, site: string | undefined): Promise<PurchaseRow> {
  try {
    return await findPurchase(sql, { purchaseId, site });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    const [last] = await erasures(sql, { purchaseId, site: site ?? null });
    if (last === undefined) throw error;
    throw new AppError(
      'not_found',
      `${JSON.stringify(purchaseId)} is not registered at site ${last.site}: it was erased at ${isoTime(last.at)} by ${last.by}`,
    );
  }
}

function printPlan(context: CliContext, { purchaseId, site, status, registeredAt }: PurchaseRow, counts: ErasedCounts): void {
  const { transitions, events, deliveries, attempts, mentions, pending } = counts;
  printLine(context, printable(`${purchaseId} at site ${site}, ${status}, registered at ${isoTime(registeredAt)}, with`));
  printLine(context, '- its reference, metadata and stored fields');
  printLine(context, `- ${counted(transitions, 'transition')} and ${counted(events, 'event')}`);
  printLine(context, `- ${counted(deliveries, 'delivery', 'deliveries')} with ${counted(attempts, 'attempt')}`);
  if (mentions > 0) printLine(context, `- its id in ${counted(mentions, 'event')} of the site or about incidents`);
  if (pending > 0) {
    printLine(context, `${counted(pending, 'delivery is', 'deliveries are')} still to be made, and will never be.`);
  }
}

/** Where the person who wrote each can change it. */
const CHANGED_BY: Readonly<Record<Remark['field'], (id: string) => string>> = {
  reason: (id) => `update purchase_watch_internal.silences set reason = '…' where id = ${id.replace('sil_', '')}`,
  'acknowledged note': (id) => `update purchase_watch_internal.incidents set acknowledged_note = null where id = '${id}'`,
  'answer note': (id) => commandLine`incidents answer ${id} --cause … --note …`,
  text: (id) => commandLine`marks delete ${id}`,
  description: (id) => commandLine`subscribers change ${id} --description …`,
};

function printRemarks(context: CliContext, { remarks, isWhole }: ErasePlan): void {
  if (remarks.length === 0) return;
  printLine(context, 'People wrote about it; this stays, unless you change it:');
  for (const { place, id, field, by, at, text } of remarks) {
    const who = by === null ? '' : ` by ${by}`;
    printLine(context, printable(`- ${place} ${id}, ${field}${who} at ${at}: ${JSON.stringify(text)}`));
    printLine(context, printable(`  ${CHANGED_BY[field](id)}`));
  }
  if (!isWhole) printLine(context, '- and more, which are not listed');
}

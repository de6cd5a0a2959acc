/** `why`: why a purchase has (not) been polled, flagged or announced. */

import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { explain, explanationBody } from '../../actions/purchases/why.ts';
import { unknownText } from '../../actions/subscribers/subscribers.ts';
import { AppError } from '../../domain/values/errors.ts';
import { onDatabase } from '../terminal/database.ts';
import { printJson } from '../terminal/output.ts';
import { findPurchase } from './purchase.ts';
import { printExplanation } from './show-explanation.ts';

export const register = onDatabase(
  {
    description:
      'Says in a sentence what is the matter with a purchase, then what happened to it, who got its events, how things stand, and what comes when and why. Run it with the settings of the daemon, by which it explains the next poll.',
    arguments: [['<id>', 'its Purchase ID']],
    options: [
      ['--site <name>', 'the site, when several have this id'],
      ['--subscriber <name>', 'only what this subscriber got, or why it got nothing'],
      ['--json', 'write JSON, with exact times: what GET /v1/purchases/{id}/why answers'],
    ],
    examples: [
      ['why 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11', 'the whole story'],
      ['why 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --subscriber shop', 'why this one got its events or not'],
      ['why 3f6b8a52-6c7e-4a53-9d43-2f9b1f0a7c11 --json | jq -r .verdict', 'one sentence'],
    ],
    restsOn: ['polling', 'alerts', 'receivers'],
  },
  async (context, { id: purchaseId, site, subscriber = null, json }, { sql, settings }) => {
    const purchase = await findPurchase(sql, { purchaseId, site });
    const limits = await learnedLimits(sql, settings.policy);
    const explanation = await explain(sql, purchase, { subscriber, limits, settings });
    if (explanation === null)
      throw new AppError('invalid', `--subscriber: ${JSON.stringify(subscriber)} ${await unknownText(sql, subscriber!)}`);
    if (json) printJson(context, explanationBody(explanation));
    else printExplanation(context, explanation);
  },
);

/** `why`: why a purchase has (not) been polled, flagged or announced. */

import { explanationBody } from '../../api/purchases/explanation-body.ts';
import { channelRules } from '../../config/channels.ts';
import { suggestion } from '../../config/kinds/nearest.ts';
import { explainPurchase } from '../../domain/explain/explain.ts';
import { AppError } from '../../domain/values/errors.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import { explainFacts, subscriberNames } from '../../postgres/reports/explain.ts';
import { learnedLimits } from '../../postgres/stays/limits.ts';
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
    const { id, site: itsSite } = await findPurchase(sql, { purchaseId, site });
    const limits = await learnedLimits(sql, settings.policy);
    const limitOf = (state: number) => limits.limitOf(itsSite, state);
    const channels = channelRules(settings);
    const policy = { polling: limits.policyFor(itsSite), limitOf, channels, schedule: settings.webhooks.schedule };
    const facts = await explainFacts(sql, { id, subscriber });
    if (facts === null) throw new AppError('not_found', `${JSON.stringify(purchaseId)} was removed just now`);
    if (subscriber !== null && facts.subscribers.length === 0) throw await noSubscriber(sql, subscriber);
    const explanation = explainPurchase(facts, policy);
    if (json) printJson(context, explanationBody(explanation));
    else printExplanation(context, explanation);
  },
);

async function noSubscriber(sql: Sql, name: string): Promise<AppError> {
  const names = await subscriberNames(sql);
  const known = names.length === 0 ? 'there are none' : `there ${names.length === 1 ? 'is' : 'are'} ${names.join(', ')}`;
  return new AppError('invalid', `--subscriber: ${JSON.stringify(name)} is not a subscriber${suggestion(name, names)}; ${known}`);
}

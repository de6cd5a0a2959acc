/** Asking for a purchase now. This only makes it due; its shard's owner polls it. */

import { z } from '@hono/zod-openapi';
import { purchaseText } from '../../actions/purchases/body.ts';
import { pollingOf, requestPoll, waitForPoll } from '../../actions/purchases/poll.ts';
import { usableAnswers } from '../../domain/polling/reach.ts';
import { unnamedSiteText, unpolledAdvice } from '../../domain/polling/unpolled.ts';
import { turnsText } from '../../domain/replicas/named.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import { sentence } from '../../domain/values/sentence.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import { durationParameter, purchaseIdField, siteParameter } from '../http/fields.ts';
import { PURCHASE_PROBLEMS } from '../http/problems.ts';
import { type Api, type ApiDeps, goneSignal, jsonAnswer, route } from '../http/route.ts';
import { findPurchase } from './find-purchase.ts';
import { answerText, purchaseSchema } from './purchase-body.ts';

const MOST_WAIT = 30_000;

export function mountPoll(app: Api, { sql, changes }: ApiDeps): void {
  app.openapi(pollRoute, async (c) => {
    const { site, wait = 0 } = c.req.valid('query');
    const asked = await findPurchase(sql, { ...c.req.valid('param'), site });
    const than = await requestPoll(changes, asked);
    // Where no daemon polls the site, waiting brings nothing.
    const isPolled = wait > 0 && (await pollingOf(sql, asked.site)).site?.configured === true;
    const polled = isPolled && (await waitForPoll(sql, asked, { than, within: wait, signal: goneSignal(c) }));
    const purchase = await findPurchase(sql, { id: asked.purchaseId, site: asked.site });
    if (polled) return answerText(c, purchaseText(purchase));
    return answerText(c, purchaseText(purchase, { note: noteOn(asked.site, wait, await pollingOf(sql, asked.site)) }), 202);
  });
}

/** Why there is no result yet, as far as it is known. */
function noteOn(name: string, wait: Milliseconds, { site, turns }: Awaited<ReturnType<typeof pollingOf>>): string {
  if (site === null) return `The site ${name} is not in the database any more.`;
  if (!site.configured) return `${sentence(unnamedSiteText(site))}: ${unpolledAdvice(site)}.`;
  const { failingSince, lastSuccessAt } = site;
  if (failingSince !== null) {
    return `The site ${name} has given ${usableAnswers(failingSince, lastSuccessAt)} since ${isoTime(failingSince)}; the purchase is polled once it does.`;
  }
  if (turns !== null) return `The running daemons have different settings: ${turnsText(turns)}. The purchase stays due.`;
  if (wait === 0) return 'The purchase is polled in a moment. To get the result in the answer, add ?wait=5s.';
  return `No poll was recorded within ${formatDuration(wait)}. The purchase stays due; read it again later.`;
}

const pollRoute = route('POST /v1/purchases/{id}/poll', {
  summary: 'Poll a purchase now',
  description: 'Whatever its plan says; afterwards it follows its plan again. With `wait`, the answer waits for the result.',
  params: { id: purchaseIdField },
  query: { site: siteParameter.optional(), wait: durationParameter(MOST_WAIT).optional() },
  answers: {
    200: jsonAnswer('It was polled: the purchase as it is now.', purchaseSchema),
    202: jsonAnswer(
      'It will be polled: the purchase as it was known before, and why there is no result yet.',
      purchaseSchema.extend({ note: z.string() }),
    ),
  },
  problems: [...PURCHASE_PROBLEMS],
});

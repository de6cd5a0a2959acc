/** The act that was done to a purchase, as the address names it after a form was posted. */
import type { ManyDoneBody } from '../../../api/purchases/many.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING } from '../../frame/html.ts';
import { RESUMED } from '../../parts/held.ts';
import { flash } from '../../parts/lists.ts';

const SENTENCES = {
  polled: 'The purchase is polled in a moment. The answer shows here by itself.',
  stopped: 'It is not polled any more. What is known of it stays.',
  again: 'It is watched again. A running daemon polls it within seconds.',
  invoice_wanted:
    'The service is asked for the invoice with the next poll. Subscribers get purchase.invoice_ready when there is one.',
  invoice_ready: 'The invoice was fetched and announced before, so nothing was done.',
  sent: 'One delivery is due now, with the id and bytes that it had.',
  waits: 'One delivery is due now, and waits: the reason stands below under what happened.',
  resumed: RESUMED,
  registered: 'It is registered. A running daemon polls it within seconds.',
  known: 'It was registered before. Its first reference and metadata stay.',
} as const;

export type Done = keyof typeof SENTENCES;

/** The sentence for a word of the address; nothing for an unknown one. */
export function doneFlash(done: string | undefined): Html {
  return done !== undefined && Object.hasOwn(SENTENCES, done) ? flash(SENTENCES[done as Done]) : NOTHING;
}

const MANY: Readonly<Record<ManyDoneBody['act'], (count: number) => string>> = {
  poll: (count) => `${counted(count, 'purchase is', 'purchases are')} polled in a moment. The answers show here by themselves.`,
  announce: (count) => `${counted(count, 'delivery is', 'deliveries are')} scheduled again.`,
  stop: (count) => `${counted(count, 'purchase is', 'purchases are')} not polled any more. What is known of them stays.`,
};

/** The act that was done to many purchases, as the address names it. */
export function manyDone(done: string | undefined): Html {
  const [, act, count] = /^(poll|announce|stop)-(\d{1,9})$/.exec(done ?? '') ?? [];
  return act === undefined ? NOTHING : html`<div data-choice-done>${flash(MANY[act as 'poll'](Number(count)))}</div>`;
}

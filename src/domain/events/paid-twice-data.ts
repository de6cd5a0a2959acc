/** Data of the event for people about orders of a site that were paid twice. */
import { z } from 'zod';
import { amountText, count, listOf, orNull, time, word } from './fields.ts';

export const paidTwiceData = z.object({
  kind: z.literal('paid_twice').catch('paid_twice'),
  severity: z.literal('warning').catch('warning'),
  site: word,
  orderCount: count.catch(0).describe('How many orders; `orders` has the first of them.'),
  orders: listOf(
    z.object({
      payments: listOf(
        z.object({
          purchaseId: word,
          reference: orNull(word),
          orderReference: orNull(word),
          price: orNull(amountText),
          currency: orNull(word),
          completedAt: orNull(time),
        }),
      ).describe('The earliest first.'),
    }),
  ),
});

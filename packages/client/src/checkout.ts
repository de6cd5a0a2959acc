/** The checkout service asked directly, without a daemon: the same client that the daemon polls with. */

import { createCheckoutClient as createClient } from '../../../src/checkout/client.ts';
import { namedState } from '../../../src/domain/purchases/states.ts';
import type { Decimal as ExactNumber } from '../../../src/domain/values/exact-json.ts';
import type { State } from './contract.ts';
import type { CheckoutInvoice, CheckoutInvoiceItem } from './invoice.ts';
import type { Decimal } from './json.ts';
import type { LocalTime } from './local-time.ts';
import type { PaymentStatus } from './payment-status.ts';

export interface CheckoutClientConfig {
  /** The address that the service's operator gave you; a path in it is kept in front of every operation. */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** How operations are authorized: a token, or HTTP Basic; `oauth2`. */
  readonly auth?: 'oauth2' | 'basic' | undefined;
  /** The zone of the service's local date-times; `Europe/Stockholm`. */
  readonly timeZone?: string | undefined;
  /** Calls on their way at once, more wait their turn; 8. */
  readonly concurrency?: number | undefined;
  /** Milliseconds for one call; 10 000. */
  readonly timeout?: number | undefined;
}

/** Why there is no answer that can be used. */
export interface CheckoutTrouble {
  /**
   * `unknown`: the service does not know this id. `malformed`: it answered with something else than this purchase.
   * `throttled`: it asks for fewer calls. `refused`: credentials are not accepted. `unreachable`: no usable answer.
   */
  readonly kind: 'unknown' | 'malformed' | 'throttled' | 'refused' | 'unreachable';
  /** A stable word, such as `timeout` or `http_503`. */
  readonly reason: string;
  /** A sentence for people: what happened, what to do. No secrets and no personal data. */
  readonly detail: string;
  readonly httpStatus: number | null;
  /** Milliseconds the service asks to wait. */
  readonly retryAfter: number | null;
}

export type PaymentStatusResult =
  | {
      readonly kind: 'status';
      readonly state: State;
      /** Everything the service says, by the specification's names. Personal data is among it. */
      readonly status: PaymentStatus;
      readonly times: { readonly [Name in 'Created' | 'BeingProcessed' | 'Completed' | 'Cancelled']: LocalTime | null };
    }
  | CheckoutTrouble;

export type InvoiceDetailsResult =
  | { readonly kind: 'invoice'; readonly invoice: CheckoutInvoice }
  /** Only completed purchases have an invoice. */
  | { readonly kind: 'not_completed'; readonly state: State; readonly detail: string }
  /** The purchase is completed, and of a kind that has no invoice. */
  | { readonly kind: 'not_eligible'; readonly state: State; readonly detail: string }
  | CheckoutTrouble;

/** No method rejects: whatever the service does is one of the results. */
export interface CheckoutClient {
  /** GetPaymentStatus. */
  paymentStatus(purchaseId: string): Promise<PaymentStatusResult>;
  /** GetInvoiceDetails. */
  invoiceDetails(purchaseId: string): Promise<InvoiceDetailsResult>;
  /** Breaks off what is on its way, and closes the connections. */
  close(): Promise<void>;
}

/** Throws an Error with what to mend for a base address or time zone that cannot be right. */
export function createCheckoutClient(config: CheckoutClientConfig): CheckoutClient {
  const { auth = 'oauth2', timeZone = 'Europe/Stockholm', concurrency = 8, timeout = 10_000, ...rest } = config;
  const site = { ...rest, name: 'default', auth, timeZone, concurrency, timeout };
  const client = createClient(site, { fields: [] });
  return {
    async paymentStatus(purchaseId) {
      const answer = await client.paymentStatus(purchaseId);
      if (answer.kind !== 'answer') return answer;
      const { status, times } = answer;
      return {
        kind: 'status',
        state: { ...namedState(status.State) },
        status: { ...status, Price: digits(status.Price), CustomerBalance: digits(status.CustomerBalance) },
        times: {
          Created: timeOf(times.Created),
          BeingProcessed: timeOf(times.BeingProcessed),
          Completed: timeOf(times.Completed),
          Cancelled: timeOf(times.Cancelled),
        },
      };
    },

    async invoiceDetails(purchaseId) {
      const answer = await client.invoiceDetails(purchaseId);
      switch (answer.kind) {
        case 'invoice': {
          const { invoice: asked } = answer;
          const invoice: CheckoutInvoice = {
            ...asked,
            State: { ...namedState(asked.State) },
            TotalAmount: digits(asked.TotalAmount),
            TotalAuthorizedAmount: digits(asked.TotalAuthorizedAmount),
            MinimumAmountToPay: digits(asked.MinimumAmountToPay),
            Completed: timeOf(asked.Completed),
            InvoiceDate: timeOf(asked.InvoiceDate),
            DueDate: timeOf(asked.DueDate),
            DebitItems: asked.DebitItems.map(itemOf),
            CreditItems: asked.CreditItems.map(itemOf),
          };
          return { kind: 'invoice', invoice };
        }
        case 'not_completed':
        case 'not_eligible':
          return { kind: answer.kind, state: { ...namedState(answer.state) }, detail: answer.detail };
        default:
          return answer;
      }
    },

    close: client.close,
  };
}

function itemOf(
  item: Omit<CheckoutInvoiceItem, 'Amount' | 'TaxAmount'> & { Amount: ExactNumber | null; TaxAmount: ExactNumber | null },
): CheckoutInvoiceItem {
  return { ...item, Amount: digits(item.Amount), TaxAmount: digits(item.TaxAmount) };
}

function digits(amount: ExactNumber | null): Decimal | null {
  return amount === null ? null : amount.rawJSON;
}

function timeOf(time: { text: string; instant: number | null; ambiguous: boolean } | null): LocalTime | null {
  return time === null ? null : { ...time, instant: time.instant === null ? null : new Date(time.instant) };
}

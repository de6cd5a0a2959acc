/** The purchase status object: every field of the specification in its order, null where there is no value. */
import { PAYMENT_METHOD } from '../contract/names.ts';
import { type Customer, customerOf } from '../purchases/customer.ts';
import type { Purchase } from '../purchases/purchase.ts';
import { localTime } from '../values/local-time.ts';
import { STATE } from '../values/states.ts';

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** So many bodies are kept, about 2 KB each. */
const KEPT = 10_000;

/** Makes status objects and keeps each until its purchase changes: watchers ask far more often than things happen. */
export function createStatusAnswers() {
  const kept = new Map<Purchase, { body: Buffer; changes: number }>();
  /** The JSON of the status object as it is now. */
  return (purchase: Purchase): Buffer => {
    // Each entry into a state lengthens the history, so its length says whether a kept body still holds.
    const changes = purchase.history.length;
    const known = kept.get(purchase);
    if (known?.changes === changes) return known.body;
    if (known === undefined && kept.size >= KEPT) kept.clear();
    const body = Buffer.from(statusText(purchase));
    kept.set(purchase, { body, changes });
    return body;
  };
}

/** Before the form was shown the customer has typed nothing. */
const NOBODY = Object.fromEntries(Object.keys(customerOf(0, '')).map((key) => [key, null])) as Record<keyof Customer, null>;
const NOBODY_ANYWHERE = { ...NOBODY, delivery: NOBODY };

function statusText(purchase: Purchase): string {
  const { site, paymentMethod } = purchase;
  const opened = purchase.beingProcessedAt !== null;
  const paid = purchase.completedAt !== null;
  const card = paid && paymentMethod === PAYMENT_METHOD.card;
  const business = opened && paymentMethod === PAYMENT_METHOD['business-invoice'];
  const customer = opened ? customerOf(purchase.seed, site.country) : NOBODY_ANYWHERE;
  const { delivery } = customer;
  const payer = card ? customer : NOBODY;
  const buyer = business ? customer : NOBODY;
  const date = (at: number | null): string | null => (at === null ? null : localTime(at, site.timeZone, finestDigits(purchase)));
  return JSON.stringify({
    PurchaseId: purchase.id,
    State: purchase.state,
    Description: purchase.description,
    Price: rawJSON(purchase.price),
    Created: date(purchase.createdAt),
    BeingProcessed: date(purchase.beingProcessedAt),
    Completed: date(purchase.completedAt),
    Cancelled: date(purchase.cancelledAt),
    SiteCode: site.code,
    CountryCode: site.country,
    CurrencyCode: purchase.currency,
    AccountNumber: paid && !card ? customer.accountNumber : null,
    AccountClassCode: paid ? `C${paymentMethod}00` : null,
    InvoicingFirstName: customer.firstName,
    InvoicingLastName: customer.lastName,
    InvoicingAddressLine1: customer.addressLine1,
    InvoicingAddressLine2: customer.addressLine2,
    InvoicingZip: customer.zip,
    InvoicingCity: customer.city,
    InvoicingCountry: customer.country,
    DeliveryFirstName: delivery.firstName,
    DeliveryLastName: delivery.lastName,
    DeliveryAddressLine1: delivery.addressLine1,
    DeliveryAddressLine2: null,
    DeliveryZip: delivery.zip,
    DeliveryCity: delivery.city,
    DeliveryCountry: customer.country,
    Phone: customer.phone,
    Mail: customer.mail,
    OrderReference: purchase.reference,
    AuthenticationType: opened ? (card ? 0 : 1) : null,
    PaymentMethod: opened ? paymentMethod : null,
    IsRecurringPayment: false,
    RecPmtToken: payer.recurringToken,
    CardExpirationDate: payer.cardExpires,
    MaskedCardNumber: payer.cardNumber,
    CardBrand: payer.cardBrand,
    CustomerToken: paid ? customer.customerToken : null,
    IsOrganization: business,
    ReferenceName: buyer.referenceName,
    CompanyName: buyer.companyName,
    OrganizationNumber: buyer.organizationNumber,
    B2BAdditionalInfo: buyer.additional,
    NewsLetterValue: customer.newsletter,
    OfferedNewsLetterSettings: true,
    NewsLetterSMSValue: false,
    OfferedNewsLetterSMSSettings: false,
    CustomerType: business ? 2 : 0,
    Attachment: customer.attachment,
    CustomerBalance: purchase.state === STATE.Completed ? rawJSON(purchase.price) : null,
  });
}

/** The four digits below the millisecond: any, but always the same for a purchase. */
export function finestDigits(purchase: Purchase): string {
  return String(purchase.seed % 10_000).padStart(4, '0');
}

/** GetPaymentStatus: the request, and from the answer's text to a status or to the reason why it is none. */
import { z } from 'zod';
import type { Details } from '../domain/purchases/purchase.ts';
import { cutText, isAmount, isCurrency, LONGEST_TEXT } from '../domain/values/bounds.ts';
import { AppError } from '../domain/values/errors.ts';
import { type Decimal, decimal, isDecimal, type JsonValue, parseExact } from '../domain/values/exact-json.ts';
import type { JsonReply } from './answer-text.ts';
import type { Reply } from './call.ts';
import { errorsInstead, type TroubleObservation, trouble } from './trouble.ts';

export const PAYMENT_STATUS_PATH = '/CheckOut2Api/GetPaymentStatus';

// "A field that has no value is returned as null", says the specification. An absent field counts as null too: which
// fields apply to which kind of purchase is not shown, and serializers that drop nulls are common. Fields that the
// specification does not list are let through and forgotten.
const text = z.string().nullish();
const amount = z.number().nullish();
const flag = z.boolean().nullish();
/** .NET enumerations are 32-bit integers. A name where a number belongs is malformed: its number would be a guess. */
const enumeration = z.int32();

/**
 * The purchase status object, field by field as the specification lists it. Date-times stay the text they came as.
 * 2.0 passes as the integer 2, because to JSON they are one number; 2.5, "2" and null do not pass for `State`.
 */
const statusSchema = z.object({
  PurchaseId: z.string(),
  State: enumeration,
  Description: text,
  Price: amount,
  Created: text,
  BeingProcessed: text,
  Completed: text,
  Cancelled: text,
  SiteCode: text,
  CountryCode: text,
  CurrencyCode: text,
  AccountNumber: text,
  AccountClassCode: text,
  InvoicingFirstName: text,
  InvoicingLastName: text,
  InvoicingAddressLine1: text,
  InvoicingAddressLine2: text,
  InvoicingZip: text,
  InvoicingCity: text,
  InvoicingCountry: text,
  DeliveryFirstName: text,
  DeliveryLastName: text,
  DeliveryAddressLine1: text,
  DeliveryAddressLine2: text,
  DeliveryZip: text,
  DeliveryCity: text,
  DeliveryCountry: text,
  Phone: text,
  Mail: text,
  OrderReference: text,
  AuthenticationType: enumeration.nullish(),
  PaymentMethod: enumeration.nullish(),
  IsRecurringPayment: flag,
  RecPmtToken: text,
  CardExpirationDate: text,
  MaskedCardNumber: text,
  CardBrand: text,
  CustomerToken: text,
  IsOrganization: flag,
  ReferenceName: text,
  CompanyName: text,
  OrganizationNumber: text,
  B2BAdditionalInfo: text,
  NewsLetterValue: flag,
  OfferedNewsLetterSettings: flag,
  NewsLetterSMSValue: flag,
  OfferedNewsLetterSMSSettings: flag,
  CustomerType: enumeration.nullish(),
  Attachment: text,
  CustomerBalance: amount,
});

type WireStatus = z.infer<typeof statusSchema>;
type Field = keyof WireStatus;
type AmountField = 'Price' | 'CustomerBalance';

/** The whole object: every field there, null for no value, amounts with the digits they came with. */
export type PaymentStatus = {
  readonly [F in Field]: F extends 'PurchaseId' | 'State'
    ? WireStatus[F]
    : (F extends AmountField ? Decimal : NonNullable<WireStatus[F]>) | null;
};

const FIELDS = Object.keys(statusSchema.shape) as Field[];

/** Whether the purchase status has a field of this name. */
export function isStatusField(name: string): boolean {
  return (FIELDS as string[]).includes(name);
}

/** The body of both purchase operations. */
export function purchaseRequest(purchaseId: string): string {
  return `{"PurchaseId":${JSON.stringify(purchaseId)}}`;
}

/** Checks that the answer is a status, and of this purchase. */
export function readPaymentStatus(purchaseId: string, answer: JsonReply, reply: Reply): WireStatus | TroubleObservation {
  const checked = statusSchema.safeParse(answer.value);
  if (!checked.success) return wrongShape(answer.value, checked.error, reply);
  if (!isSamePurchase(purchaseId, checked.data.PurchaseId)) return wrongPurchase(reply);
  return checked.data;
}

/** Distinguishes the two results of reading; no answer has a field `kind` with a meaning. */
export function isTrouble<T extends object>(result: T | TroubleObservation): result is TroubleObservation {
  return 'httpStatus' in result;
}

/**
 * Ids are compared letter by letter. Only the letters of a GUID may differ in case: services print the same GUID in
 * either, while in any other kind of id a capital may be all that distinguishes two purchases.
 */
export function isSamePurchase(asked: string, answered: string): boolean {
  return asked === answered || (GUID.test(asked) && asked.toLowerCase() === answered.toLowerCase());
}
const GUID = /^\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?$/i;

/** JSON of another form than the specification's. Names the field at fault, never its value. */
export function wrongShape(value: unknown, error: z.ZodError, reply: Reply): TroubleObservation {
  // Errors are looked for in what shows no purchase: fields of a purchase may be called like those of an error.
  const isPurchase = ['State', 'PurchaseId', 'PurchaseID'].some((field) => Object.hasOwn(Object(value), field));
  const errors = isPurchase ? null : errorsInstead(value, reply);
  if (errors !== null) return errors;
  if (value === null) return trouble('malformed', 'null', 'The service answered with null instead of a purchase.', reply);
  const path = error.issues[0]?.path.join('.') ?? '';
  const where = path === '' ? 'is not an object' : `has a field ${path} that is missing or of another type than specified`;
  const detail = `The answer ${where}, so it was not used. The service may have changed; compare it with its specification.`;
  return trouble('malformed', 'wrong_shape', detail, reply);
}

export function wrongPurchase(reply: Reply): TroubleObservation {
  const detail =
    'The answer is about another purchase than the one asked for, so it was not used. A cache or proxy may mix up answers.';
  return trouble('malformed', 'wrong_purchase', detail, reply);
}

/** About money, and larger than it can be: a part of it would be wrong, so nothing of the answer is used. */
export function outOfBounds(field: string, reply: Reply): TroubleObservation {
  const detail = `The field ${field} has more digits, characters or items than a purchase can have, so the answer was not used. The service may have changed; ask its operator.`;
  return trouble('malformed', 'out_of_bounds', detail, reply);
}

/** Fields whose texts may be longer than others: texts that people or programs wrote, and tokens. */
const LONGEST: { readonly [F in Field]?: number } = {
  Description: 4_096,
  Attachment: 4_096,
  B2BAdditionalInfo: 4_096,
  RecPmtToken: 1_024,
  CustomerToken: 1_024,
};

/**
 * A function that keeps the fields an operator named as `Details`, or answers trouble when an amount or the currency cannot be
 * kept as it is. Throws AppError `configuration` for an unknown name.
 */
export function detailsReader(
  names: readonly string[],
): (status: WireStatus, text: string, reply: Reply) => Details | TroubleObservation {
  const unknown = names.filter((name) => !isStatusField(name));
  if (unknown.length > 0) {
    throw new AppError('configuration', `store.fields: the purchase status has no field ${unknown.join(', ')}.`);
  }
  const fields = names as readonly Field[];
  return (status, text, reply) => {
    const details = new Map<string, JsonValue>();
    for (const field of fields) {
      const value = status[field] ?? null;
      if (value === null) continue;
      const kept = keptValue(field, value, text);
      if (kept === null) return outOfBounds(field, reply);
      details.set(field, kept);
    }
    return Object.fromEntries(details);
  };
}

/** The value of a field as it is kept; null for an amount or a currency that cannot be one. `text` is the whole answer. */
function keptValue(field: Field, value: string | number | boolean, text: string): JsonValue {
  if (typeof value === 'string') {
    const isOdd = field === 'CurrencyCode' && !isCurrency(value);
    return isOdd ? null : cutText(storable(value), LONGEST[field] ?? LONGEST_TEXT);
  }
  if (!isAmountField(field)) return value;
  const amount = exactAmount(text, field, value as number);
  return isAmount(amount) ? amount : null;
}

/** The whole status for people who ask for it. */
export function fullStatus(status: WireStatus, text: string): PaymentStatus {
  const entries = FIELDS.map((field) => {
    const value = status[field] ?? null;
    return [field, value !== null && isAmountField(field) ? exactAmount(text, field, value as number) : value];
  });
  return Object.fromEntries(entries) as PaymentStatus;
}

function isAmountField(field: Field): field is AmountField {
  return field === 'Price' || field === 'CustomerBalance';
}

/** Postgres takes neither NUL nor half a surrogate pair; one odd name must not spoil the batch it is recorded in. */
function storable(value: string): string {
  return value.toWellFormed().replaceAll('\0', '\ufffd');
}

const NUMBER_AFTER_KEY = /\s*:\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

/**
 * The digits of an amount, found in the text: parsing everything exactly would cost more than the rest of the poll.
 * Where the quick look is not certain (the name occurs twice, or the number found is not the number parsed), the whole
 * text is parsed exactly after all.
 */
function exactAmount(text: string, field: AmountField, value: number): Decimal {
  const key = `"${field}"`;
  const at = text.indexOf(key);
  if (at >= 0 && text.indexOf(key, at + 1) < 0) {
    NUMBER_AFTER_KEY.lastIndex = at + key.length;
    const found = NUMBER_AFTER_KEY.exec(text)?.[1];
    if (found !== undefined && Number(found) === value) return decimal(found);
  }
  return asDecimal(parseExactOr(text, field, value));
}

function parseExactOr(text: string, field: AmountField, value: number): JsonValue {
  try {
    return (parseExact(text) as { readonly [key: string]: JsonValue })[field] ?? value;
  } catch {
    return value; // too deep for the exact parser; the number itself is right, only trailing zeros are lost
  }
}

/** An amount out of the exact parser, which leaves a number whose shortest form is its text as a number. */
export function asDecimal(value: JsonValue): Decimal {
  return isDecimal(value) ? value : decimal(String(value));
}

/** The purchase status, field by field as the specification lists it. */
import type { Decimal } from './json.ts';

/** Every field is there; null where the service sent no value. Amounts keep their digits. */
export interface PaymentStatus {
  readonly PurchaseId: string;
  /** 0 to 14 as the specification lists them; another number is data too. */
  readonly State: number;
  readonly Description: string | null;
  readonly Price: Decimal | null;
  /** Local date-times of the service, as it sent them; `times` has them as instants. */
  readonly Created: string | null;
  readonly BeingProcessed: string | null;
  readonly Completed: string | null;
  readonly Cancelled: string | null;
  readonly SiteCode: string | null;
  readonly CountryCode: string | null;
  readonly CurrencyCode: string | null;
  readonly AccountNumber: string | null;
  readonly AccountClassCode: string | null;
  /** From here to `Mail`: who buys. */
  readonly InvoicingFirstName: string | null;
  readonly InvoicingLastName: string | null;
  readonly InvoicingAddressLine1: string | null;
  readonly InvoicingAddressLine2: string | null;
  readonly InvoicingZip: string | null;
  readonly InvoicingCity: string | null;
  readonly InvoicingCountry: string | null;
  readonly DeliveryFirstName: string | null;
  readonly DeliveryLastName: string | null;
  readonly DeliveryAddressLine1: string | null;
  readonly DeliveryAddressLine2: string | null;
  readonly DeliveryZip: string | null;
  readonly DeliveryCity: string | null;
  readonly DeliveryCountry: string | null;
  readonly Phone: string | null;
  readonly Mail: string | null;
  readonly OrderReference: string | null;
  readonly AuthenticationType: number | null;
  /** A number; the specification does not list what they mean. */
  readonly PaymentMethod: number | null;
  readonly IsRecurringPayment: boolean | null;
  readonly RecPmtToken: string | null;
  readonly CardExpirationDate: string | null;
  readonly MaskedCardNumber: string | null;
  readonly CardBrand: string | null;
  readonly CustomerToken: string | null;
  readonly IsOrganization: boolean | null;
  readonly ReferenceName: string | null;
  readonly CompanyName: string | null;
  readonly OrganizationNumber: string | null;
  readonly B2BAdditionalInfo: string | null;
  readonly NewsLetterValue: boolean | null;
  readonly OfferedNewsLetterSettings: boolean | null;
  readonly NewsLetterSMSValue: boolean | null;
  readonly OfferedNewsLetterSMSSettings: boolean | null;
  readonly CustomerType: number | null;
  readonly Attachment: string | null;
  readonly CustomerBalance: Decimal | null;
}

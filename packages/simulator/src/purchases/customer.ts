/**
 * Made-up customers. Nothing here can belong to anybody: phone numbers have an area code no country has, mail goes to
 * domains reserved for examples, accounts and cards have check digits and ranges that no bank issues. Names are put together
 * from syllables, so that each is rare enough to be searched for wherever personal data must not turn up.
 */
import { between, createRandom, digits, pick, type Random, tokenText } from '../values/random.ts';

const FIRST_BEGIN = 'Alvi Brinde Dagma Elvi Fjola Gudlei Hjalmi Ingve Jorun Kettil Lovi Malvi Nanne Oddvei'.split(' ');
const FIRST_END = 'brekta dorine fridel galdur harda ketta linde mundra nilla runa stena trudi vald ärna'.split(' ');
const LAST_BEGIN = 'Asp Björn Dal Ekel Fors Gran Hässel Kvarn Lind Mossa Norr Rönn Skogs Tall Ängs'.split(' ');
const LAST_END = 'berging brinkel dahlqvistar flygarn gårdius hammarel klintar lundell markesson stigander vallgren'.split(' ');
const STREET = 'Blåklocks Fiskgjuse Hjortron Kopparslagar Lärkspov Mjölnar Smultron Vindspels'.split(' ');
const TOWN = 'Hallonsta Kråkevik Lommarydet Norrviksund Tranemåla Uddhamra Vitsippeby Östbergala'.split(' ');

/** Countries of customers: the name in answers, the letters before ZIP codes and accounts, the dialling code. */
const COUNTRIES: ReadonlyMap<string, readonly [name: string, letters: string, dialling: string]> = new Map([
  ['SWE', ['Sweden', 'SE', '46']],
  ['FIN', ['Finland', 'FI', '358']],
  ['NOR', ['Norway', 'NO', '47']],
  ['DNK', ['Denmark', 'DK', '45']],
  ['DEU', ['Germany', 'DE', '49']],
  ['EST', ['Estonia', 'EE', '372']],
]);

export type Customer = ReturnType<typeof customerOf>;

/** The customer of a purchase: the same for the same seed. */
export function customerOf(seed: number, countryCode: string) {
  const random = createRandom(seed);
  const [country, letters, dialling] = COUNTRIES.get(countryCode) ?? [countryCode, countryCode.slice(0, 2), '999'];
  const firstName = firstNameOf(random);
  const lastName = lastNameOf(random);
  const address = (): string => `${pick(random, STREET)}vägen ${between(random, 100, 999)}${pick(random, ['A', 'B', 'C', 'D'])}`;
  const zip = (): string => `${letters}-${digits(random, 5)}`;
  const town = (): string => `${pick(random, TOWN)}${pick(random, ['', ' Södra', ' Norra', ' Strand'])}`;
  const home = { addressLine1: address(), zip: zip(), city: town() };
  const elsewhere = random() < 0.5;
  return {
    firstName,
    lastName,
    ...home,
    addressLine2: random() < 0.3 ? `c/o ${otherName(random)}` : null,
    country,
    // The address goods are sent to; half of the customers name another one.
    delivery: elsewhere
      ? { firstName: firstNameOf(random), lastName, addressLine1: address(), zip: zip(), city: town() }
      : { firstName, lastName, ...home },
    phone: `+${dialling}00${digits(random, 7)}`,
    mail: `${ascii(firstName)}.${ascii(lastName)}.${digits(random, 4)}@example.${pick(random, ['com', 'net', 'org'])}`,
    accountNumber: `${letters}00${digits(random, 20)}`,
    paymentReference: digits(random, 16),
    cardNumber: `400000******${digits(random, 4)}`,
    cardExpires: `${between(random, 28, 33)}${String(between(random, 1, 12)).padStart(2, '0')}`,
    cardBrand: pick(random, ['Visa', 'MasterCard']),
    recurringToken: `rec_${tokenText(random, 32)}`,
    customerToken: `cust_${tokenText(random, 40)}`,
    referenceName: otherName(random),
    companyName: `${lastNameOf(random)} Handels AB`,
    organizationNumber: `009900-${digits(random, 4)}`,
    additional: `Door code ${digits(random, 6)}, ask for ${firstName}`,
    attachment: `{"loyaltyNumber":"LN-${digits(random, 10)}"}`,
    newsletter: random() < 0.3,
  };
}

/**
 * The customer's values that are worth a search: those that identify a person and are not found in other text by chance.
 * Left out are the country, the card's brand and its expiry (four digits).
 */
export function personalValues(customer: Customer): string[] {
  const { delivery } = customer;
  return [
    customer.firstName,
    customer.lastName,
    customer.addressLine1,
    customer.addressLine2,
    customer.zip,
    customer.city,
    delivery.firstName,
    delivery.addressLine1,
    delivery.zip,
    delivery.city,
    customer.phone,
    customer.mail,
    customer.accountNumber,
    customer.paymentReference,
    customer.cardNumber,
    customer.recurringToken,
    customer.customerToken,
    customer.referenceName,
    customer.companyName,
    customer.organizationNumber,
    customer.additional,
    // The attachment is JSON inside JSON: its quotes are escaped on the way, the number in it is not.
    customer.attachment.slice(customer.attachment.indexOf('LN-'), -2),
  ].filter((value) => value !== null);
}

const firstNameOf = (random: Random): string => pick(random, FIRST_BEGIN) + pick(random, FIRST_END);
const lastNameOf = (random: Random): string => pick(random, LAST_BEGIN) + pick(random, LAST_END);
const otherName = (random: Random): string => `${firstNameOf(random)} ${lastNameOf(random)}`;

function ascii(name: string): string {
  return name
    .toLowerCase()
    .normalize('NFD')
    .replace(/[^a-z]/g, '');
}

import { describe, expect, test } from 'vitest';
import { startCaller } from '../caller.ts';

const STATUS_FIELDS = [
  ...[
    'PurchaseId',
    'State',
    'Description',
    'Price',
    'Created',
    'BeingProcessed',
    'Completed',
    'Cancelled',
    'SiteCode',
    'CountryCode',
  ],
  ...['CurrencyCode', 'AccountNumber', 'AccountClassCode', 'InvoicingFirstName', 'InvoicingLastName', 'InvoicingAddressLine1'],
  ...['InvoicingAddressLine2', 'InvoicingZip', 'InvoicingCity', 'InvoicingCountry', 'DeliveryFirstName', 'DeliveryLastName'],
  ...['DeliveryAddressLine1', 'DeliveryAddressLine2', 'DeliveryZip', 'DeliveryCity', 'DeliveryCountry', 'Phone', 'Mail'],
  ...['OrderReference', 'AuthenticationType', 'PaymentMethod', 'IsRecurringPayment', 'RecPmtToken', 'CardExpirationDate'],
  ...['MaskedCardNumber', 'CardBrand', 'CustomerToken', 'IsOrganization', 'ReferenceName', 'CompanyName', 'OrganizationNumber'],
  ...['B2BAdditionalInfo', 'NewsLetterValue', 'OfferedNewsLetterSettings', 'NewsLetterSMSValue', 'OfferedNewsLetterSMSSettings'],
  ...['CustomerType', 'Attachment', 'CustomerBalance'],
];
const INVOICE_FIELDS = [
  ...['PurchaseId', 'State', 'InvoicingFirstName', 'InvoicingLastName', 'InvoicingAddressLine1', 'InvoicingAddressLine2'],
  ...['InvoicingZip', 'InvoicingCity', 'Completed', 'TotalAmount', 'TotalAuthorizedAmount', 'MinimumAmountToPay', 'InvoiceDate'],
  ...['DueDate', 'BankAccount', 'AccountNumber', 'AliasAccount', 'Receiver', 'DebitItems', 'CreditItems'],
];

describe('the token endpoint', () => {
  test('gives a token for the right form, and an OAuth error for any other', async () => {
    const t = await startCaller();
    const good = JSON.parse((await t.token()).text);
    expect(good).toMatchObject({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3_600 });
    for (const [fields, status, error] of [
      [{ client_secret: 'wrong' }, 401, 'invalid_client'],
      [{ client_id: 'wrong' }, 401, 'invalid_client'],
      [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ] as const) {
      const answer = await t.token(fields);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { error }]);
    }
    const asJson = await t.call('/oauth2/token', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    expect([asJson.status, JSON.parse(asJson.text)]).toEqual([400, { error: 'invalid_request' }]);
  });

  test('gives the lifetime as a number, as text or not at all', async () => {
    for (const [expiresIn, given] of [
      ['number', 60],
      ['string', '60'],
      ['absent', undefined],
    ] as const) {
      const t = await startCaller({ expiresIn, tokenLifetime: 60 });
      expect(JSON.parse((await t.token()).text).expires_in).toBe(given);
    }
  });

  test('tokens end with their lifetime, and all at once when told to', async () => {
    const t = await startCaller({ tokenLifetime: 60 });
    const { purchaseId } = t.control.add();
    expect((await t.status(purchaseId)).status).toBe(200);
    t.pass(59);
    expect((await t.status(purchaseId)).status).toBe(200);
    t.pass(1);
    expect((await t.status(purchaseId)).status).toBe(401);

    const other = await startCaller();
    const { purchaseId: id } = other.control.add();
    expect((await other.status(id)).status).toBe(200);
    other.control.expireTokens();
    expect((await other.status(id)).status).toBe(401);
  });
});

test('which credentials let a call in depends on the scheme', async () => {
  const basic = `Basic ${Buffer.from('demo-client:demo-secret').toString('base64')}`;
  for (const [auth, withBasic, withToken] of [
    ['oauth2', 401, 200],
    ['basic', 200, 401],
    ['both', 200, 200],
  ] as const) {
    const t = await startCaller({ auth });
    const body = JSON.stringify({ PurchaseId: t.control.add().purchaseId });
    const ask = async (authorization: string) =>
      (await t.call('/CheckOut2Api/GetPaymentStatus', { method: 'POST', headers: { authorization }, body })).status;
    expect(await ask(basic)).toBe(withBasic);
    const token = auth === 'basic' ? 'none' : JSON.parse((await t.token()).text).access_token;
    expect(await ask(`Bearer ${token}`)).toBe(withToken);
    expect(await ask('Bearer made-up')).toBe(401);
  }
});

test('an authorization is shown to whoever has a token', async () => {
  const t = await startCaller();
  const { access_token } = JSON.parse((await t.token()).text);
  const answer = await t.call('/authorization/42', { headers: { authorization: `Bearer ${access_token}` } });
  expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { AuthorizationId: '42' }]);
  expect((await t.call('/authorization/42')).status).toBe(401);
});

describe('GetPaymentStatus', () => {
  test('has every field of the specification, in its order, from the first state to the last', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({
      script: [{ state: 'New' }, { state: 'BeingProcessed', after: '5s' }, { state: 'Completed', after: '5s' }],
    });
    for (const state of [0, 1, 2]) {
      const answer = JSON.parse((await t.status(purchaseId)).text);
      expect(Object.keys(answer)).toEqual(STATUS_FIELDS);
      expect(answer.State).toBe(state);
      t.pass(5);
    }
  });

  test('a purchase nobody has opened names nobody; a paid one names the customer and the card', async () => {
    const t = await startCaller();
    const fresh = JSON.parse((await t.status(t.control.add({ script: 'never-opened' }).purchaseId)).text);
    expect(fresh).toMatchObject({
      BeingProcessed: null,
      InvoicingFirstName: null,
      Phone: null,
      Mail: null,
      PaymentMethod: null,
      Attachment: null,
    });
    const paid = JSON.parse(
      (await t.status(t.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'card' }).purchaseId)).text,
    );
    expect(paid.InvoicingLastName).toMatch(/\w{6}/);
    expect(paid.Mail).toMatch(/@example\.(com|net|org)$/);
    expect(paid.MaskedCardNumber).toMatch(/^\d{6}\*{6}\d{4}$/);
    expect(paid.CardExpirationDate).toMatch(/^\d{4}$/);
  });

  test('amounts keep their digits', async () => {
    const t = await startCaller();
    for (const price of ['249.50', '0.10', '12345678901234567890.000', '7']) {
      const { purchaseId } = t.control.add({ price, script: [{ state: 'Completed' }] });
      expect((await t.status(purchaseId)).text).toContain(`"Price":${price},`);
    }
    expect((await t.status(t.control.add({ price: 249.5 }).purchaseId)).text).toContain('"Price":249.50,');
  });

  test('date-times are local to the site, without an offset and with seven digits', async () => {
    const t = await startCaller({
      sites: [
        { code: 'se', currency: 'SEK', country: 'SWE' },
        { code: 'fi', currency: 'EUR', country: 'FIN', timeZone: 'Europe/Helsinki' },
      ],
    });
    for (const [site, country, currency, local] of [
      ['se', 'SWE', 'SEK', '10:00:00'],
      ['fi', 'FIN', 'EUR', '11:00:00'],
    ] as const) {
      const answer = JSON.parse((await t.status(t.control.add({ site }).purchaseId)).text);
      expect(answer.Created).toMatch(new RegExp(`^2026-07-01T${local}\\.123\\d{4}$`));
      expect(answer).toMatchObject({ SiteCode: site, CountryCode: country, CurrencyCode: currency });
    }
  });

  test('an unknown id is 404, a request without an id is 400, both as a list of errors', async () => {
    const t = await startCaller();
    for (const [id, status] of [
      ['made-up', 404],
      ['', 400],
    ] as const) {
      const answer = await t.status(id);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toEqual([{ ErrorCode: expect.any(String), ErrorMessage: expect.any(String) }]);
    }
    const get = await t.call('/CheckOut2Api/GetPaymentStatus');
    expect([get.status, get.headers.allow]).toEqual([405, 'POST']);
    expect((await t.call('/CheckOut2Api/CancelPayment')).status).toBe(404);
  });
});

describe('GetInvoiceDetails', () => {
  test('a completed invoice has every field, and its items add up to the total', async () => {
    const t = await startCaller();
    const credits: number[] = [];
    for (const purchase of t.control.addMany(3, {
      script: [{ state: 'Completed' }],
      paymentMethod: 'invoice',
      price: '249.50',
    })) {
      const { text } = await t.invoice(purchase.purchaseId);
      const invoice = JSON.parse(text);
      expect(Object.keys(invoice)).toEqual(INVOICE_FIELDS);
      expect(text).toContain('"TotalAmount":249.50,');
      expect(invoice.DueDate).toBe('2026-07-31T00:00:00.0000000');
      const sum = (items: { Amount: number }[]) => items.reduce((total, { Amount }) => total + Math.round(Amount * 100), 0);
      expect(sum(invoice.DebitItems) - sum(invoice.CreditItems)).toBe(24_950);
      credits.push(invoice.CreditItems.length);
    }
    expect(credits.toSorted()).toEqual([0, 0, 1]);
  });

  test('small amounts keep their zeros in everything computed from them', async () => {
    const t = await startCaller();
    const { purchaseId } = t.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '0.50' });
    expect((await t.invoice(purchaseId)).text).toContain(
      '"TotalAmount":0.50,"TotalAuthorizedAmount":0.55,"MinimumAmountToPay":0.10,',
    );
  });

  test('a card payment and an unfinished invoice have none: 400', async () => {
    const t = await startCaller();
    const card = t.control.add({ script: [{ state: 'Completed' }], paymentMethod: 'card' });
    const open = t.control.add({ script: [{ state: 'WaitingForEidApp' }], paymentMethod: 'invoice' });
    for (const { purchaseId } of [card, open]) {
      const answer = await t.invoice(purchaseId);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text)).toEqual([{ ErrorCode: 'NO_INVOICE', ErrorMessage: expect.any(String) }]);
    }
  });
});

import { expect, test } from 'vitest';
import { clientOf, ID, INVOICE, json, STATUS, startService, statusText } from './service.ts';

const INVOICE_TEXT = `{"PurchaseId":"${ID}","State":2,"InvoicingFirstName":"Astrid","Completed":"2026-07-01T12:00:00.0000001",
  "TotalAmount":249.50,"TotalAuthorizedAmount":300.00,"MinimumAmountToPay":100,"InvoiceDate":"2026-07-02T00:00:00","DueDate":null,
  "BankAccount":"1-2","AccountNumber":"3","Receiver":"Operator",
  "DebitItems":[{"Description":"Chair","Notes":null,"Amount":124.750,"TaxCode":{"rate":25.0},"TaxAmount":24.95},{"TaxCode":"A"}],
  "CreditItems":[]}`;

async function ask(answers: Parameters<typeof startService>[0]) {
  const service = await startService(answers);
  return { service, answer: await clientOf(service.baseUrl).invoiceDetails(ID) };
}

test.each(['PurchaseId', 'PurchaseID'])('an invoice, with %s, keeps every digit', async (spelling) => {
  const { service, answer } = await ask({
    [INVOICE]: (response) => json(response, INVOICE_TEXT.replace('"PurchaseId"', `"${spelling}"`)),
  });
  expect(service.received[0]!.body).toBe(`{"PurchaseId":"${ID}"}`);
  if (answer.kind !== 'invoice') throw new Error(answer.kind);
  const { invoice } = answer;
  expect(JSON.stringify([invoice.TotalAmount, invoice.TotalAuthorizedAmount, invoice.MinimumAmountToPay])).toBe(
    '[249.50,300.00,100]',
  );
  expect(JSON.stringify(invoice.DebitItems)).toBe(
    '[{"Description":"Chair","Notes":null,"Amount":124.750,"TaxCode":{"rate":25.0},"TaxAmount":24.95},' +
      '{"Description":null,"Notes":null,"Amount":null,"TaxCode":"A","TaxAmount":null}]',
  );
  expect(invoice).toMatchObject({ PurchaseId: ID, InvoicingLastName: null, DueDate: null, CreditItems: [] });
  expect(invoice.Completed).toEqual({
    text: '2026-07-01T12:00:00.0000001',
    instant: Date.UTC(2026, 6, 1, 10),
    ambiguous: false,
  });
  expect(invoice).not.toHaveProperty('PurchaseID');
});

test.each([
  [6, 'not_completed'],
  [8, 'not_completed'],
  [2, 'not_eligible'],
])('an answer without values in state %i is %s', async (State, kind) => {
  const { answer } = await ask({ [INVOICE]: (response) => json(response, { PurchaseId: ID, State, DebitItems: null }) });
  expect(answer).toMatchObject({ kind, state: State });
});

test.each([
  [6, 'not_completed'],
  [2, 'not_eligible'],
])('a refusal for a purchase in state %i is explained by its status: %s', async (State, kind) => {
  const { answer } = await ask({
    [INVOICE]: (response) => json(response, [{ ErrorCode: 1 }], 400),
    [STATUS]: (response) => json(response, statusText({ State })),
  });
  expect(answer).toMatchObject({ kind, state: State });
});

test('a refusal for an id the service does not know is unknown', async () => {
  const { answer } = await ask({});
  expect(answer).toMatchObject({ kind: 'unknown', reason: 'http_404' });
});

test.each([
  ['null', 'null'],
  ['[]', 'wrong_shape'],
  [INVOICE_TEXT.replace('124.750', '"124.750"'), 'wrong_shape'],
  [INVOICE_TEXT.replace(ID, 'another'), 'wrong_purchase'],
  [INVOICE_TEXT.replace('"PurchaseId"', '"Id"'), 'wrong_purchase'],
  [INVOICE_TEXT.replace('"A"', `${'['.repeat(100_000)}${']'.repeat(100_000)}`), 'too_deep'],
  [INVOICE_TEXT.replace('249.50', `249.${'5'.repeat(30)}`), 'out_of_bounds'],
  [INVOICE_TEXT.replace('24.95', '24e95'), 'out_of_bounds'],
  [INVOICE_TEXT.replace('"CreditItems":[]', `"CreditItems":[${'{},'.repeat(1_000)}{}]`), 'out_of_bounds'],
])('a wrong answer (case %#) is malformed', async (body, reason) => {
  const { answer } = await ask({ [INVOICE]: (response) => json(response, body) });
  expect(answer).toMatchObject({ kind: 'malformed', reason });
  expect(JSON.stringify(answer)).not.toContain('Astrid');
});

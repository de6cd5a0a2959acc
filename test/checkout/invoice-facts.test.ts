import { expect, test } from 'vitest';
import { INVOICE_FIELDS as FIELDS_OF_INVOICES } from '../../src/checkout/invoice-details.ts';
import { INVOICE_FIELDS, STATUS_FIELDS } from '../../src/config/kinds/names.ts';
import { clientOf, ID, INVOICE, json, startService } from './service.ts';

const INVOICE_TEXT = `{"PurchaseId":"${ID}","State":2,"InvoicingFirstName":"Astrid","InvoicingCity":"Lund\\u0000","Completed":"2026-07-01T12:00:00.0000001",
  "TotalAmount":249.50,"TotalAuthorizedAmount":300.00,"MinimumAmountToPay":null,"InvoiceDate":"2026-07-02T00:00:00","DueDate":"2026-08-01",
  "BankAccount":"1-2","AccountNumber":"3","Receiver":"Operator",
  "DebitItems":[{"Description":"Chair","Notes":null,"Amount":124.750,"TaxCode":{"rate":25.0},"TaxAmount":24.95}],"CreditItems":null}`;

/** One poll of an invoice that is answered so; with null, as the service answers what it does not know. */
async function poll(text: string | null, fields: readonly string[] = []) {
  const service = await startService(text === null ? {} : { [INVOICE]: (response) => json(response, text) });
  return { seen: await clientOf(service.baseUrl, {}, { fields }).pollInvoice(ID), service };
}

test('of an invoice, its facts are kept, with the digits they came with, and nothing else', async () => {
  const { seen } = await poll(INVOICE_TEXT);
  expect(JSON.stringify(seen)).toBe(
    '{"kind":"invoice","facts":{"totalAmount":249.50,"totalAuthorizedAmount":300.00,"minimumAmountToPay":null,' +
      '"invoiceDate":"2026-07-02T00:00:00","dueDate":"2026-08-01","completed":"2026-07-01T10:00:00.000Z","debitItems":1,"creditItems":0}}',
  );
});

test('fields that were named are kept beside them by their own names; what has no value is left out', async () => {
  const named = ['Price', 'DueDate', 'InvoicingCity', 'DebitItems', 'AliasAccount', 'TotalAmount'];
  const { seen } = await poll(INVOICE_TEXT, named);
  expect(JSON.stringify(seen)).toContain(
    '"details":{"InvoicingCity":"Lund\\u0000","TotalAmount":249.50,"DueDate":"2026-08-01",' +
      '"DebitItems":[{"Description":"Chair","Notes":null,"Amount":124.750,"TaxCode":{"rate":25.0},"TaxAmount":24.95}]}',
  );
});

test('of what items say, as much is kept as a text may have; no item is left out', async () => {
  const text = INVOICE_TEXT.replace('"Chair"', `"${'C'.repeat(50_000)}"`)
    .replace('{"rate":25.0}', `{"rates":[${'25.0,'.repeat(1_000)}0]}`)
    .replace('"1-2"', `"${'1'.repeat(50_000)}"`);
  const { seen } = await poll(text, ['DebitItems', 'BankAccount']);
  if (seen.kind !== 'invoice') throw new Error(seen.kind);
  const { BankAccount, DebitItems } = seen.facts.details!;
  expect(BankAccount).toBe(`${'1'.repeat(249)}… (cut)`);
  expect(JSON.stringify(DebitItems)).toMatch(
    /^\[\{"Description":"C{1017}… \(cut\)","Notes":null,"Amount":124\.750,"TaxCode":"\{\\"rates\\":\[(25\.0,)+.*… \(cut\)","TaxAmount":24\.95\}\]$/,
  );
  expect(JSON.stringify(seen).length).toBeLessThan(2_000);
});

test('a text where a date belongs may be anything, and is not kept', async () => {
  const { seen } = await poll(
    INVOICE_TEXT.replace('2026-07-02T00:00:00', 'Astrid').replace('2026-07-01T12:00:00.0000001', 'Astrid'),
  );
  expect(seen).toMatchObject({ facts: { invoiceDate: null, completed: null } });
  expect(JSON.stringify(seen)).not.toContain('Astrid');
});

test('where there is none, one call is all that is made, and says what it knows', async () => {
  const { seen, service } = await poll(null);
  expect(seen).toMatchObject({ kind: 'unknown', reason: 'http_404' });
  expect(service.received).toHaveLength(1);
  expect((await poll(`{"PurchaseId":"${ID}","State":6}`)).seen).toEqual({ kind: 'not_completed', detail: expect.any(String) });
});

test('every name that the settings accept is one of a field, and every field has a name there', () => {
  const names: readonly string[] = [...STATUS_FIELDS, ...INVOICE_FIELDS];
  expect(() => clientOf('http://127.0.0.1', {}, { fields: names })).not.toThrow();
  expect(() => clientOf('http://127.0.0.1', {}, { fields: ['Prize'] })).toThrow(/no field Prize/);
  expect(FIELDS_OF_INVOICES.filter((name) => !names.includes(name))).toEqual([]);
});

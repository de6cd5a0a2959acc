/** An order paid twice, on the pages of both purchases; and on that of a site that reuses references. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn } from '../support/machine.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let t: TestApp;
let first: string;
let second: string;
let browser: { readonly cookie: string };

beforeAll(async () => {
  t = await startTestApp();
  const pay = () =>
    t.watch(
      { script: [{ state: 'New' }, { state: 'Completed', after: '5s' }], price: '499.00', currency: 'SEK' },
      { reference: 'ORD-1' },
    );
  [first, second] = [await pay(), await pay()];
  await t.live(5 * 60_000);
  await t.app.start();
  browser = await signedIn(t.app.url()!);
});

afterAll(async () => {
  await t?.stop();
});

/** The page's words. */
async function read(path: string): Promise<string> {
  const answer = await fetch(`${t.app.url()}${path}`, { headers: { accept: 'text/html', ...browser } });
  expect(answer.status).toBe(200);
  return (await answer.text()).replace(/<[^>]*>|\s|&nbsp;/g, ' ').replace(/ +/g, ' ');
}

test('both pages name the other payment, and say what to do', async () => {
  for (const [id, twin] of [
    [first, second],
    [second, first],
  ])
    expect(await read(`/purchases/default/${id}`)).toMatch(
      new RegExp(`Its order was paid twice, also by ${twin} \\(499\\.00 SEK, completed .*refund one of them`),
    );
});

test('the page of the site counts orders that repeat, and says when they are reused by design', async () => {
  expect(await read('/sites/default')).toContain('1 of 2 paid orders were paid before');
  await t.app.sql`update purchase_watch_internal.order_counts set paid = 100, repeated = 30`;
  expect(await read('/sites/default')).toContain('30 of 100 paid orders repeat: references are reused by design');
  expect(await read(`/purchases/default/${first}`)).toContain('that is not announced, because 30 of the last 100 paid purchases');
});

/** The page of a negotiated purchase, in a browser. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSimulator } from '../../../packages/simulator/src/index.ts';
import { openPage, startBrowser } from '../../support/browser.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

test('a customer opens the page and pays, and is back in the shop; a broken page keeps the customer', async () => {
  const checkout = await startSimulator();
  const { url, control } = checkout.namespace('browser');
  const { origin } = new URL(url);
  const { page, misdeeds } = await openPage(browser, { origin });
  const shop = createServer((_, response) => response.end('thanks')).listen(0, '127.0.0.1');
  await once(shop, 'listening');
  const shopOrigin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  const returnUrl = `${shopOrigin}/thanks?"><script>`;
  const paid = control.negotiate({ price: '249.50', reference: '<b>ORD-1</b>', returnUrl });
  await page.goto(paid.pageUrl);
  expect(await page.title()).toBe('Pay 249.50 SEK');
  expect(await page.getByText('Order <b>ORD-1</b> at demo-se').count()).toBe(1);
  expect(control.get(paid.purchaseId)?.state.name).toBe('BeingProcessed');
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.waitForURL(`${shopOrigin}/thanks**`);
  expect(control.get(paid.purchaseId)?.state.name).toBe('Completed');

  control.breakPage();
  const kept = control.negotiate({ returnUrl });
  await page.goto(kept.pageUrl);
  await page.getByRole('button', { name: 'Pay', exact: true }).click();
  await page.getByText('WaitingForCardPayments').waitFor();
  expect(page.url()).toBe(kept.pageUrl);

  const cancelled = control.negotiate();
  await page.goto(cancelled.pageUrl);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.locator('#state', { hasText: 'Error' }).waitFor();
  expect(await page.getByRole('button').count()).toBe(0);
  await page.reload();
  expect(await page.getByRole('button').count()).toBe(0);

  await page.goto(`${url}/control`);
  await page.getByRole('heading', { name: 'Checkout simulator, namespace browser' }).waitFor();
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByText('Done.').waitFor();
  expect(control.list()).toHaveLength(4);
  await page.getByRole('button', { name: 'Advance' }).click();
  await page.getByText('clock advanced by 30 min').waitFor();
  await page.getByRole('button', { name: 'Reset' }).click();
  await expect.poll(() => control.list()).toEqual([]);
  await page.getByLabel('price').fill('19.90');
  await page.getByRole('button', { name: 'Negotiate' }).click();
  await page.getByRole('link').click();
  await page.waitForURL('**/ns/browser/control/checkout/**');
  expect(await page.title()).toBe('Pay 19.90 SEK');
  expect(misdeeds.found.filter((each) => !each.includes(shopOrigin))).toEqual([]);
  await page.close();
  shop.closeAllConnections();
  shop.close();
  await checkout.stop();
});

/** The pages of purchases in a real browser: found, opened, polled, registered, forgotten; with and without script. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { register } from '../../src/postgres/purchases/purchases.ts';
import { KEYS, OPERATOR, openSignedIn, READER, startBrowser } from '../support/browser.ts';
import { startTestApp, type TestApp } from '../support/test-app.ts';

let browser: Browser;
let t: TestApp;
let origin: string;

beforeAll(async () => {
  browser = await startBrowser();
  // Polls of the plan are far apart, so that a change is seen by the poll that a person asks for.
  const change = (settings: TestApp['settings']) => {
    const poll = { first: 3_600_000, growth: 0, most: 3_600_000 };
    settings.policy = {
      ...settings.policy,
      states: new Map([...settings.policy.states].map(([state, plan]) => [state, { ...plan, poll }])),
    };
  };
  t = await startTestApp({ realClock: true, env: KEYS, change });
  await t.app.start();
  origin = t.app.url()!;
});

afterAll(async () => {
  await t?.stop();
  await browser?.close();
});

/** A page of a person who has signed in. */
const opened = (key = OPERATOR, options: { javaScriptEnabled?: boolean } = {}) =>
  openSignedIn(browser, { origin, key, to: '/', ...options });

const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();
const isThere = async (purchaseId: string): Promise<boolean> =>
  (await t.database.sql`select from purchase_watch.purchases where purchase_id = ${purchaseId}`).count > 0;
/** A purchase in a state, which was polled. */
async function seen(state: string, registration: { reference?: string; metadata?: string } = {}): Promise<string> {
  const id = await t.watch({ script: [{ state }] }, registration);
  await expect.poll(async () => (await t.rowOf(id)).state).not.toBeNull();
  return id;
}

test('finds a purchase by its reference, polls it, and the change arrives without a reload', async () => {
  const id = await seen('New', { reference: 'ORD-77' });
  const { page, context, misdeeds } = await opened();
  await page.getByRole('searchbox', { name: 'Find a purchase' }).fill('ORD-77');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${origin}/purchases/default/${id}`);
  expect(await heading(page)).toContain('Before the form for');
  await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
  t.simulator.control.setState(id, 'Completed');
  await page.getByRole('button', { name: 'Poll now' }).click();
  await page.getByText('The purchase is polled in a moment.').waitFor();
  await page.evaluate(() => Object.assign(globalThis, { afterPost: true }));
  await page.getByRole('heading', { level: 1, name: /^Paid/ }).waitFor({ timeout: 20_000 });
  expect(await page.evaluate(() => 'afterPost' in globalThis)).toBe(true);
  const life = page.getByRole('img', { name: /before the form for .*, then completed/ });
  expect(await life.first().locator('rect.b-paid').count()).toBe(1);
  await page
    .getByRole('row', { name: /before the form → completed/ })
    .getByText('delivered')
    .waitFor();
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('says that a search with its filter finds nothing, and shows filtered pages by their address', async () => {
  const id = await seen('SessionTimedOut', { reference: 'ORD-88' });
  const { page, context } = await opened();
  await page.goto('/purchases?q=ORD-88&outcome=stuck');
  expect(await heading(page)).toBe('Purchases that are stuck whose order, reference or id begins with “ORD-88”.');
  await page.getByText('There are no purchases that are stuck').waitFor();
  await page.getByRole('link', { name: 'Search without the filter' }).click();
  await page.waitForURL(`${origin}/purchases/default/${id}`);
  await page.goto('/purchases?q=oRd-88');
  await page.waitForURL(`${origin}/purchases/default/${id}`);
  await page.goto('/purchases?q=ORD-99');
  await page.getByText('There are no purchases whose order, reference or id begins with “ORD-99”.').waitFor();
  await page.goto('/purchases');
  await page.locator('select[name=outcome]').selectOption('not paid');
  await page.locator('select[name=state]').selectOption('SessionTimedOut');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  expect(await heading(page)).toBe('Purchases in the state timed out that are not paid.');
  expect(await page.locator('tbody tr').count()).toBe(1);
  await page.goto('/purchases?state=Nowhere');
  await page.locator('#filter-problem').getByText('state').waitFor();
  expect(await heading(page)).toContain('asks for something that cannot be');
  await context.close();
});

test('goes through pages of purchases by the keyset', async () => {
  const many = Array.from({ length: 60 }, (_, index) => `many-${String(index).padStart(2, '0')}`);
  await register(
    t.database.sql,
    many.map((purchaseId) => ({ purchaseId, site: null, reference: 'MANY', metadata: null })),
  );
  const { page, context } = await opened();
  await page.goto('/purchases?reference=MANY&sort=newest');
  const ids = () =>
    page
      .locator('tbody .ord')
      .evaluateAll((all) => all.map((each) => decodeURIComponent(each.getAttribute('href')!.split('/').at(-1)!)));
  const first = await ids();
  await page.getByRole('link', { name: 'Next', exact: true }).click();
  await page.getByRole('link', { name: 'First page' }).waitFor();
  expect([...first, ...(await ids())]).toEqual(many.toReversed());
  await context.close();
});

test.each([true, false])('registers one, and what is wrong stands beside its field (script: %s)', async (javaScriptEnabled) => {
  const id = `one-${javaScriptEnabled}`;
  const { page, context } = await opened(OPERATOR, { javaScriptEnabled });
  await page.goto('/purchases/register');
  await page.getByLabel('Purchase ID').fill(id);
  await page.getByLabel(/^Metadata/).fill('{"cart": ');
  await page.getByRole('button', { name: 'Register 1 purchase' }).click();
  await page.getByText('is not JSON; expected an object').waitFor();
  expect(await isThere(id)).toBe(false);
  expect(await page.getByLabel('Purchase ID').inputValue()).toBe(id);
  await page.getByLabel(/^Metadata/).fill('{"cart": 7}');
  await page.getByLabel(/^Your reference/).fill('R'.repeat(300));
  await page.getByRole('button', { name: 'Register 1 purchase' }).click();
  await page.getByText('is 300 characters long').waitFor();
  await page.getByLabel(/^Your reference/).fill('ORD-1');
  await page.getByRole('button', { name: 'Register 1 purchase' }).click();
  await page.waitForURL(`${origin}/purchases/default/${id}?done=registered`);
  expect(await page.locator('#metadata').textContent()).toContain('"cart": 7');
  await page.goto('/purchases/register');
  await page.getByLabel('Purchase ID').fill(id);
  await page.getByRole('button', { name: 'Register 1 purchase' }).click();
  await page.getByText('It was registered before.').waitFor();
  await context.close();
});

test.each([true, false])(
  'pasted lines: the good are registered, each bad one is listed (script: %s)',
  async (javaScriptEnabled) => {
    const own = (name: string): string => `${name}-${javaScriptEnabled}`;
    const { page, context } = await opened(OPERATOR, { javaScriptEnabled });
    await page.goto('/purchases/register');
    const lines = [
      `${own('1')},,`,
      `${own('b')},default,ORD-b`,
      '',
      `${own('c')},nowhere,`,
      `${own('1')},,`,
      '<b>,,,,',
      `"${own('d')}",,"with, comma"`,
    ];
    await page.getByLabel(/^One purchase a line/).fill(lines.join('\n'));
    await page.getByRole('button', { name: 'Register these lines' }).click();
    await page.getByRole('heading', { level: 1, name: '3 new, 1 known already, 2 bad lines.' }).waitFor();
    const rows = await page.locator('tbody tr').allInnerTexts();
    expect(rows[0]).toMatch(/^4\s+"nowhere" is not a site; there is default\s+c-/);
    expect(rows[1]).toMatch(/^6\s+has 5 cells, and the first line has 3\s+<b>,,,,$/);
    expect(await page.getByLabel(/^One purchase a line/).inputValue()).toBe(`${own('c')},nowhere,\n<b>,,,,`);
    const stored = await t.database
      .sql`select purchase_id, reference from purchase_watch.purchases where purchase_id like ${`_-${javaScriptEnabled}`} order by 1`;
    expect(stored.map(({ purchaseId, reference }) => [purchaseId, reference])).toEqual([
      [own('1'), null],
      [own('b'), 'ORD-b'],
      [own('d'), 'with, comma'],
    ]);
    await page.getByLabel(/^One purchase a line/).fill(`reference;purchase_id;colour\nORD-e;${own('e')};red\n;;\nORD-f;;\n`);
    await page.getByRole('button', { name: 'Register these lines' }).click();
    await page.getByRole('heading', { level: 1, name: '1 new, 0 known already, 1 bad line.' }).waitFor();
    await page.getByText('Not used, because no field is called so: colour').waitFor();
    expect(await page.getByLabel(/^One purchase a line/).inputValue()).toBe('reference;purchase_id;colour\nORD-f;;');
    await context.close();
  },
);

test('stops a purchase, watches it again, and says why an invoice is refused', async () => {
  const id = await seen('New');
  const { page, context } = await opened(OPERATOR, { javaScriptEnabled: false });
  await page.goto(`/purchases/default/${id}`);
  await page.getByText('Stop watching it').click();
  await page.getByRole('button', { name: 'Stop watching 1 purchase' }).click();
  await page.getByText('It is not polled any more. What is known of it stays.').waitFor();
  expect((await t.rowOf(id)).status).toBe('stopped');
  await page.getByRole('button', { name: 'Watch again' }).click();
  await page.getByText('It is watched again').waitFor();
  expect((await t.rowOf(id)).status).toBe('watching');
  // A page that was opened before the purchase changed.
  const completed = await seen('Completed');
  await page.goto(`/purchases/default/${completed}`);
  await page.getByRole('button', { name: 'Have the invoice announced' }).waitFor();
  await t.database
    .sql`update purchase_watch.purchases set status = 'stopped', next_poll_at = null, due_slot = null, ended_at = now() where purchase_id = ${completed}`;
  await page.getByRole('button', { name: 'Have the invoice announced' }).click();
  await page.getByText('is not watched any more, so nothing of it is announced').waitFor();
  await context.close();
});

test('shows what an invoice holds, to whoever may read it, and says why there is none', async () => {
  const paid = await t.watch({ script: [{ state: 'Completed' }], paymentMethod: 'invoice', price: '1249.50', currency: 'SEK' });
  await expect.poll(async () => (await t.rowOf(paid)).state).toBe(2);
  const { page, context, misdeeds } = await opened(READER, { javaScriptEnabled: false });
  await page.goto(`/purchases/default/${paid}`);
  await page.getByRole('link', { name: 'Show the invoice' }).click();
  expect(await heading(page)).toMatch(/^Invoice of 1\s249\.50, due \d{4}-\d\d-\d\d$/);
  expect((await page.getByRole('row', { name: /Shipping/ }).textContent())!).toMatch(/Delivered to the door/);
  expect(await page.locator('section[aria-labelledby="sums"]').textContent()).toMatch(/Pay at least249\.90/);
  expect(await page.locator('section[aria-labelledby="customer"]').textContent()).toContain('The Checkout Operator');
  expect(t.log.join('')).toContain('api.personal_data_read');
  expect(misdeeds.found).toEqual([]);
  const unpaid = await seen('New');
  await page.goto(`/purchases/default/${unpaid}`);
  expect(await page.getByRole('link', { name: 'Show the invoice' }).count()).toBe(0);
  const response = await page.goto(`/purchases/default/${unpaid}/invoice`);
  expect(response!.status()).toBe(409);
  await page.getByText('The purchase is not completed.').waitFor();
  expect((await page.goto('/purchases/default/nowhere/invoice'))!.status()).toBe(404);
  await context.close();
});

test.each([true, false])('sends an event again (script: %s)', async (javaScriptEnabled) => {
  const id = await seen('BeingProcessed');
  await t.receiver.waitFor((received) => received.some(({ body }) => body.includes(id)));
  const [first] = t.receiver.received.filter(({ body }) => body.includes(id));
  await expect.poll(async () => (await deliveriesOf(id))[0]?.status).toBe('delivered');
  const { page, context } = await opened(OPERATOR, { javaScriptEnabled });
  await page.goto(`/purchases/default/${id}`);
  await page.getByText('Send an event again').click();
  await page.locator('select[name=delivery]').selectOption({ index: 0 });
  await page.getByRole('button', { name: 'Send 1 delivery again' }).click();
  await page.getByText('One delivery is due now').waitFor();
  await t.receiver.waitFor((received) => received.filter((each) => each.id === first!.id).length === 2);
  await context.close();
});

const deliveriesOf = (id: string) => t.database.sql<{ status: string }[]>`
  select d.status from purchase_watch_internal.deliveries d join purchase_watch_internal.events e on e.position = d.event
  join purchase_watch.purchases p on p.id = e.purchase where p.purchase_id = ${id}`;

test.each([true, false])('forgets a purchase once its id is typed (script: %s)', async (javaScriptEnabled) => {
  const id = await seen('Completed', { reference: 'ORD-gone' });
  const { page, context } = await opened(OPERATOR, { javaScriptEnabled });
  await page.goto(`/purchases/default/${id}`);
  await page.getByRole('link', { name: 'Forget', exact: true }).click();
  await page.getByText('1 transition and 1 event').waitFor();
  await page.getByLabel('Purchase ID').fill('something else');
  await page.getByRole('button', { name: 'Erase 1 purchase and 1 event' }).click();
  await page.getByText('nothing was erased').waitFor();
  expect(await isThere(id)).toBe(true);
  await page.getByLabel('Purchase ID').fill(id);
  await page.getByRole('button', { name: 'Erase 1 purchase and 1 event' }).click();
  await page.getByText('The purchase is erased with everything that was known of it.').waitFor();
  expect(await isThere(id)).toBe(false);
  const [line] = await t.database.sql<
    { by: string }[]
  >`select by from purchase_watch_internal.forgotten order by at desc limit 1`;
  expect(line!.by).toMatch(/^key API_KEY, role /);
  await context.close();
});

test('a purchase whose id looks like a path and a query is opened by its link', async () => {
  const odd = 'odd/../id?%2F<b>&"x';
  await register(t.database.sql, [{ purchaseId: odd, site: null, reference: null, metadata: null }]);
  const { page, context, misdeeds } = await opened();
  await page.goto('/purchases');
  await page.getByRole('link', { name: odd }).click();
  await page.waitForURL('**/purchases/default/*');
  expect(await page.locator('.head .id').textContent()).toBe(odd);
  expect(misdeeds.found).toEqual([]);
  await context.close();
});

test('a reader sees no buttons, and what is posted all the same is refused', async () => {
  const id = await seen('New', { reference: 'ORD-reader' });
  const { page, context } = await opened(READER);
  for (const path of ['/purchases', `/purchases/default/${id}`]) {
    await page.goto(path);
    await page.getByText(/needs? a key with the scope|sign in with a key/).waitFor();
    expect(await page.locator('main form[method=post]:not([action$="/zone"]), main a.btn:not([download])').count()).toBe(0);
  }
  await page.goto('/purchases/register');
  expect(await page.locator('main form:not([action$="/zone"])').count()).toBe(0);
  const answers = await page.evaluate(
    (paths) => Promise.all(paths.map(async (path) => (await fetch(path, { method: 'POST' })).status)),
    ['poll', 'stop', 'forget', 'again'].map((name) => `/purchases/default/${id}/${name}`),
  );
  expect(answers).toEqual([403, 403, 403, 403]);
  expect((await t.rowOf(id)).status).toBe('watching');
  await context.close();
});

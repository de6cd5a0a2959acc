import { expect, test } from 'vitest';
import { SimulatorError, type SimulatorOptions, startSimulator } from '../../packages/simulator/src/index.ts';

test('a simulator is started with sites and credentials of its own, and stops', async () => {
  const checkout = await startSimulator({
    ...{ clientId: 'shop', clientSecret: 'of the shop' },
    sites: [{ code: 'shop-no', currency: 'NOK', country: 'NOR', timeZone: 'Europe/Oslo' }],
  });
  try {
    expect(checkout).toMatchObject({ clientId: 'shop', clientSecret: 'of the shop' });
    expect(checkout.control.negotiate()).toMatchObject({ site: 'shop-no', currency: 'NOK' });
    const asked = async (client_secret: string) => {
      const form = { client_id: 'shop', client_secret, grant_type: 'client_credentials' };
      return (await fetch(`${checkout.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })).status;
    };
    expect([await asked('of the shop'), await asked('demo-secret')]).toEqual([200, 401]);
    const authorization = `Basic ${Buffer.from('shop:of the shop').toString('base64')}`;
    expect((await fetch(`${checkout.url}/authorization/1`, { headers: { authorization } })).status).toBe(200);
  } finally {
    await checkout.stop();
  }
  await expect(fetch(checkout.url)).rejects.toThrow();
});

test('ids differ from start to start, so that a shop may keep its database', async () => {
  const [one, two] = await Promise.all([startSimulator(), startSimulator()]);
  const ids = [one, two].map(({ control }) => control.negotiate().purchaseId);
  await Promise.all([one.stop(), two.stop()]);
  expect(ids[0]).not.toBe(ids[1]);
});

const SITE = { code: 'shop', currency: 'SEK', country: 'SWE' };
test.each<[options: object, message: string]>([
  [{ port: 70_000 }, 'port: 70000 must be 65535 or less'],
  [{ allowHosts: ['http://a.example'] }, 'allowHosts[0]: "http://a.example" must be a name without scheme and port'],
  [{ timeScale: 0 }, 'timeScale: 0 must be more than 0; 60 lets a minute take a second'],
  [{ load: '5' }, 'load: "5" must be a number of purchases per minute, zero or more'],
  [{ auth: 'digest' }, 'auth: "digest" must be oauth2, basic or both'],
  [{ clientId: '' }, 'clientId: "" is empty; give one or more characters, or leave it out'],
  [{ sites: [] }, 'sites: is empty; name at least one site, or leave the option out'],
  [{ sites: [{ ...SITE, currency: 'kr' }] }, 'sites[0].currency: "kr" must be three capital letters, such as SEK'],
  [{ sites: [{ ...SITE, timeZone: 'Mars' }] }, 'sites[0].timeZone: "Mars" is not a time zone'],
  [{ sites: [SITE, SITE] }, 'sites[1].code: "shop" names a site a second time; give each site a code of its own'],
  [{ sites: [{ ...SITE, name: 'x' }] }, 'sites[0]: "name" is not known here; known: code, currency, country, timeZone'],
  [{ credentials: {} }, '"credentials" is not known here; known: port, host, allowHosts, seed'],
  [{ port: 1.5, load: -1 }, 'port: 1.5 must be a whole number from 0 to 65535; 0 is any free port\nload: -1 must be'],
])('options %o are refused, with what to give instead', async (options, message) => {
  const refused = await startSimulator(options as SimulatorOptions).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(SimulatorError);
  expect((refused as SimulatorError).message).toContain(message);
});

test('an error never shows a secret', async () => {
  const secret = { toString: () => 'my secret' };
  const refused = await startSimulator({ clientSecret: secret as never }).catch((error: unknown) => String(error));
  expect(refused).toBe('SimulatorError: clientSecret: must be text');
});

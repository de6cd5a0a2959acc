/** Client ids and secrets as mails, vaults, editors and Windows leave them. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oddCredentials } from '../../../src/config/kinds/credential.ts';
import { loadSettings } from '../../../src/config/load-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-credential-'));
const BASE = {
  CHECKOUT_BASE_URL: 'https://checkout.example',
  CHECKOUT_CLIENT_ID: 'shop-7',
  CHECKOUT_CLIENT_SECRET: 's3cr:ät+/=',
};

/** The site with a text as its secret, by each way in which one comes. */
const WAYS: readonly ((text: string) => ReturnType<typeof loadSettings>)[] = [
  (text) => loadSettings({ ...BASE, CHECKOUT_CLIENT_SECRET: text }),
  (text) => {
    const path = join(folder, 'secret');
    writeFileSync(path, text);
    return loadSettings({ ...BASE, CHECKOUT_CLIENT_SECRET: undefined, CHECKOUT_CLIENT_SECRET_FILE: path });
  },
  (text) => {
    const path = join(folder, 'settings.yaml');
    writeFileSync(
      path,
      `sites:\n  se:\n    baseUrl: https://checkout.example\n    clientId: shop-7\n    clientSecret: ${JSON.stringify(text)}\n`,
    );
    return loadSettings({ PURCHASE_WATCH_CONFIG: path });
  },
  (text) => {
    const path = join(folder, 'placeholder.yaml');
    writeFileSync(
      path,
      `sites:\n  se:\n    baseUrl: https://checkout.example\n    clientId: shop-7\n    clientSecret: \${SE_SECRET}\n`,
    );
    return loadSettings({ PURCHASE_WATCH_CONFIG: path, SE_SECRET: text });
  },
];

const SECRET = 's3cr:ät+/=';

test.each(WAYS)('marks and line ends are taken away, by way %#', (way) => {
  for (const text of [
    `\ufeff${SECRET}`,
    `${SECRET}\u200b`,
    `s3c\u00ad${SECRET.slice(3)}`,
    `\u00a0${SECRET}\u00a0`,
    `${SECRET}\r\n`,
    `${SECRET}\n\n`,
    `\n${SECRET}\u2028`,
    `\u2060\u200e${SECRET}\ufeff\r\n`,
  ])
    expect(way(text).sites[0]!.clientSecret).toBe(SECRET);
});

test.each(WAYS)('what none may hold is refused with the reason and without the secret, by way %#', (way) => {
  const wrong = [
    [`s3cr\n${SECRET}`, /holds a line end \(at character 5 of 15\)/],
    [`s3\u00a0cret`, /holds a no-break space \(at character 3 of 7\)/],
    [`s3\tcret`, /holds a control character/],
    [`s3\u0007cret`, /holds a control character/],
    [`s3\ufffdcret`, /lost when the file was saved or read in another encoding/],
    ['\ufeff\r\n', /holds nothing but invisible marks/],
  ] as const;
  for (const [text, reason] of wrong) {
    const load = () => way(text);
    expect(load).toThrow(reason);
    expect(load).not.toThrow(/s3/);
  }
});

test('blanks and quotes around an id or a secret are kept, and warned of', () => {
  const odd = (clientId: string, clientSecret: string) =>
    oddCredentials([{ name: 'se', clientId, clientSecret }]).map(({ field, has }) => `${field} ${has}`);
  expect(odd('shop-7', SECRET)).toEqual([]);
  expect(odd(' shop-7', `"${SECRET}"`)).toEqual(['clientId blanks around it', 'clientSecret quotes around it']);
  expect(odd("'shop-7'", `${SECRET} `)).toEqual(['clientId quotes around it', 'clientSecret blanks around it']);
  expect(odd('“shop-7”', '"s')).toEqual(['clientId quotes around it']);
  expect(loadSettings({ ...BASE, CHECKOUT_CLIENT_ID: ' shop-7 ' }).sites[0]!.clientId).toBe(' shop-7 ');
});

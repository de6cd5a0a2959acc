import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

/** Databases refuse a schema file that was changed after they applied it, so a file here stays as it is for ever. */
const LANDED: Readonly<Record<string, string>> = {
  '0001_replicas.sql': 'bff8d4c17d626d2fa9e7b6cc8c4f611f660635a882963b970d5b0a1a0701480c',
  '0002_purchases.sql': '61e4c3788f26d2140558154123684412d467284a276f44dde6723c3cb4cf2cef',
  '0003_registration.sql': 'aa47f7b8cf71ce95f0bd92819734c65a1ce99cd9a61db168439d9cf5d93197cd',
  '0004_events.sql': '1954ca8e111d397f3aa3f1132b44261fcc7ed59486eda7703f0ca6827f8f1a77',
  '0005_deliveries.sql': '28a89b3e53a84b76db90d586bbb7127ac63bd0d7594e7d628d5e07df48794b4a',
  '0006_incidents.sql': '04038e2d8709acb7f9e2812814815b98b0df9d4508679f62f35a8bcd0f67c9ba',
  '0007_requests.sql': '8b88d601cc8b49dd48fcefabff902ed80c354477ae8383251aba490246b4b554',
  '0008_views.sql': 'a1d89ceb7622d1b819898b043f47f459da52d0158069fb5ef548e5dc1855d9d0',
  '0009_roles.sql': '3300b2408cfe9de359b3081dff5f5565b4e01361075a09b3723b84b701634990',
};

const hashOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(MIGRATIONS, name), 'utf8').replaceAll('\r\n', '\n'))
    .digest('hex');

test('no migration was changed: a change is a new file, which is added to the list above', () => {
  const files = readdirSync(MIGRATIONS).sort();
  expect(Object.fromEntries(files.map((name) => [name, hashOf(name)]))).toEqual(LANDED);
});

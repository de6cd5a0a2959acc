import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

/** Databases refuse a schema file that was changed after they applied it, so a file here stays as it is for ever. */
const LANDED: Readonly<Record<string, string>> = {
  '0001_replicas.sql': '6c1e3537cdf2be840ce825b26b301d7d02bf4a9891b6e37d0f2770666d34a334',
  '0002_purchases.sql': 'e82c88326b57fc8d13d4f8fd00e567085f858968107a4f4dc77695c4abe738c3',
  '0003_registration.sql': 'aa47f7b8cf71ce95f0bd92819734c65a1ce99cd9a61db168439d9cf5d93197cd',
  '0004_events.sql': '1954ca8e111d397f3aa3f1132b44261fcc7ed59486eda7703f0ca6827f8f1a77',
  '0005_deliveries.sql': '28a89b3e53a84b76db90d586bbb7127ac63bd0d7594e7d628d5e07df48794b4a',
  '0006_incidents.sql': 'd10112918fb785dbb0d2c34991462cf1fdd23d49a216f0a211fc896997927175',
  '0007_requests.sql': '8b88d601cc8b49dd48fcefabff902ed80c354477ae8383251aba490246b4b554',
  '0008_views.sql': '0f1b8b71d135162d1c286fd80d1e6cb9fca1bee81a52fbafd63f4978efc285fe',
  '0009_roles.sql': '3300b2408cfe9de359b3081dff5f5565b4e01361075a09b3723b84b701634990',
  '0010_trends.sql': '768a2f4f04e279c11d352b9ec0344394b8dbaf017e5b56a95e7c66ed26d101bd',
  '0011_stay_views.sql': '19bbf7edd772e3422a267c9b09e20cf1e4c06989ebc57d0024ee5689cb74bfaf',
  '0012_then.sql': 'ac963953fdef98cc866e4ddc214ba6058c987258acec83d8ee9dea6267aeac6e',
  '0013_marks.sql': '51cd561e20bc05638f0b98ed8fe4295c7c1b1635d655e185ec74c3ed9f820286',
  '0014_outcome_lists.sql': '3dd2abcdf7db56e59008574847b7dee5d3384d9391f25d88d693b501ab4ef945',
  '0015_trend_sums.sql': '78d1d3c3d23942a688c00ac8c480f40ba571ba6312e242de2e8dc92d1760e58a',
  '0016_aftermath.sql': '4ac6cb7c3f8bc229459d42f23b534e740597e662c66f91ea2bbeec714ae1eff0',
  '0017_at_risk.sql': '17ca2b1c4ff9e692c3bb14c292b6651def8b3ccb74874ffbef73b16ebe780292',
};

const hashOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(MIGRATIONS, name), 'utf8').replaceAll('\r\n', '\n'))
    .digest('hex');

test('no migration was changed: a change is a new file, which is added to the list above', () => {
  const files = readdirSync(MIGRATIONS).sort();
  expect(Object.fromEntries(files.map((name) => [name, hashOf(name)]))).toEqual(LANDED);
});

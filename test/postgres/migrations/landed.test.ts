import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

/** Databases refuse a schema file that was changed after they applied it, so a file here stays as it is for ever. */
const LANDED: Readonly<Record<string, string>> = {
  '0001_replicas.sql': 'ef7e7f6395b3a19da8521bc04811e408ec0c5d7b392a88da2a4a6fd3b79817c0',
  '0002_purchases.sql': '27abc4dd0c092d5e45bbeac87fdc9c820504a3c2e5da4fbdd9cf2eb5c1cc8dcb',
  '0003_registration.sql': '9de830fae3993940925c2e661ce1dc32b9841ff0654f6e24421e9b6ea90600d9',
  '0004_events.sql': '1954ca8e111d397f3aa3f1132b44261fcc7ed59486eda7703f0ca6827f8f1a77',
  '0005_deliveries.sql': 'a92183b9a69683b78e5a38cd9711dd3a9cd0b84eaf8c9ae0c367e2a3b2597fae',
  '0006_incidents.sql': '39ba928c11a50b9df66353e82129c4f67528bfadf7dcc63a488f1cbb0f439d48',
  '0007_upkeep.sql': 'a38f21b001e35c38517b23e2ab25b3a1e949eba69e4bcdec7673211602ce77ac',
  '0008_views.sql': '2dd07c0ec3e6fa51e6da7639cd8c6776d51d865bd509b2f4472df47ffef74f9a',
  '0009_roles.sql': '447f1dbfcc79dde66719bd36c850100ffe0ad8a46758b37698d28119efc6273e',
  '0010_flow.sql': 'f197df2f7cfadb432ecff286372457fc6d090f91c7d74529048d86ba6c76f99f',
  '0011_next_poll_reason.sql': 'bf8717f156717683178138f96837ca0214ab91c506e92441fc6e47be278b4b54',
  '0012_console.sql': '8a316a5a8e0e305ecd0e90cbb13975291802fa97007cfa03e7693e621c1ebe22',
  '0013_actions.sql': 'bdc65c7ec00f77a29dc8306d4a4c89f4a95a6647c4dd2d1018d0fd64e705cbc1',
  '0014_site_calls.sql': '2b1ad0312c86d8b6c7c8310a3145e2ecb56defe05aecc4cd0802c536b6e84330',
  '0015_incident_ends_at.sql': '8e7d597c6388221089a74e84a7504e646af547ab4d8e7b2acf0622f2ce1b6b75',
  '0016_registrations.sql': '7d18e256e5a4db6286838a368f8aac666649a7abefa6ec265ec224ff98bc4acc',
  '0017_settings_digests.sql': 'b6e7aa4438b740e462faf1669a75ea90e76273b67851cb3eee793fe63e459d3f',
  '0018_database_changes.sql': 'b02813b7e3ed1b833005d6a5c312468826b5a7f88338267f75c691a195a20a43',
  '0019_named_settings.sql': '6604d7b80295bcb9b4033514b10f82bdc6eb3e182bd55a541ee4fe6bdb016a6a',
  '0020_bulk.sql': '9148c78293b1ccf6c9c913efd935a55861820900363b7063389d538b74f46c82',
  '0021_delivery_mark.sql': '52e3f816644f4e1a1cabba2f731754a4576056ada74f5fcdfd32e3969ce632fd',
  '0022_odd_ids.sql': '3ff9840fb869721c61bb8433f19949f4ae07d1ab45c20212309ed15e233d4122',
  '0023_keyed_digests.sql': 'eb55224c823fdbd8c1575bb2bab611e2e35ad85f1b5d0c01186fee19f7f86445',
  '0024_unreadable_alerts.sql': '855a93ea3e72d60f8951e81b6069ce43278cb2f9e04bf3a3de9cc5fce89db05b',
  '0025_order_payments.sql': 'ad29a15df23000ca1f83e222c5991914db9d1e27b18bac769c2e0d9c632cebb6',
  '0026_stays.sql': '6189322dccae6cb31f1b0c53aa31d9c46fa188bae48adba8144f045fe7e56259',
  '0027_purchase_list.sql': '083a7c39387b6625418ba3ee22f1752b90065590ede1f2b810a14f4f2fc9cc22',
  '0028_receiver_answers.sql': 'b08e9b99f8086c8572be714396ae6783bb9eaf6c4c9b6879f55ce27e7595b94d',
  '0029_names.sql': '3ad93bbe5252712e4ff8dce3ac027d932eccfd4c4de787eb04af76041a4720c5',
  '0030_minutes_kept.sql': '474f0851d2eefe407f3cb843c876c83c8099d6d8d3c1ec2790b57c9c922ecda7',
};

const hashOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(MIGRATIONS, name), 'utf8').replaceAll('\r\n', '\n'))
    .digest('hex');

test('no migration was changed: a change is a new file, which is added to the list above', () => {
  const files = readdirSync(MIGRATIONS).sort();
  expect(Object.fromEntries(files.map((name) => [name, hashOf(name)]))).toEqual(LANDED);
});

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MIGRATIONS = join(import.meta.dirname, '../../../migrations');

/** Databases refuse a schema file that was changed after they applied it, so a file here stays as it is for ever. */
const LANDED: Readonly<Record<string, string>> = {
  '0001_replicas.sql': '65fae8d66cfc1994909de9f8d578cc3716c7352289ef653d1930b353c3b2e8cc',
  '0002_purchases.sql': '8993939ed1d47af1987bb6b988bf2af90037652cd26abd49c79bcb5cd84bcff9',
  '0003_registration.sql': 'd4eec2a863d03eee785dbc7035d891c8cd4cef892545b900edcfa5fbcfef6348',
  '0004_events.sql': '062ea7f54d1ef772882838e69d5987bb092fd8108ff3bf6740314136a7daa528',
  '0005_deliveries.sql': '02b67ea457f61e7bb99d9bd4f585bba4d3dd9ded4ac056d7e0d19a8ccb29f8fa',
  '0006_incidents.sql': 'effab376ebb1d18be8f24347c3204b75aeb659abc751ff0324095b79b9857c57',
  '0007_upkeep.sql': '61eb788ff7e7a39d1ff30bdb64d920b0b2f306e6220c3de05f6d1c073c46cbc7',
  '0008_views.sql': 'd75ca3ff9ba5bf80b6bf2e3d1ec1e3fce3272bb7d154160a4ab20b84e434126a',
  '0009_roles.sql': '68c7bae836b3509ea20c7dae8a7c9929da56d1662dc332d4ee989d4223738e42',
};

const hashOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(MIGRATIONS, name), 'utf8').replaceAll('\r\n', '\n'))
    .digest('hex');

test('no migration was changed: a change is a new file, which is added to the list above', () => {
  const files = readdirSync(MIGRATIONS).sort();
  expect(Object.fromEntries(files.map((name) => [name, hashOf(name)]))).toEqual(LANDED);
});

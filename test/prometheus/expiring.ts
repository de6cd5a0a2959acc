/** Keys and a receiver's certificate that end soon, and their successors. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashOfKey } from '../../src/config/api-keys.ts';
import { makeAuthority } from '../support/certificates.ts';
import { startHttpsReceiver } from '../support/https-receiver.ts';
import type { Scenario } from './world.ts';

const HOUR = 3_600_000;

/** An API key of the settings file that ends in so many hours. */
export function keyUntil(name: string, hours: number) {
  const expires = new Date(Date.now() + hours * HOUR).toISOString();
  return { [name]: { scopes: ['read'], hash: hashOfKey(`${name}-of-the-recording`), expires } };
}

export const EXPIRING: Scenario['play'] = async ({ ready, watch, phase, follow }) => {
  const authority = makeAuthority();
  const receiver = await startHttpsReceiver(authority.issue('localhost'));
  const trusted = join(mkdtempSync(join(tmpdir(), 'purchase-watch-recording-')), 'ca.pem');
  writeFileSync(trusted, authority.certificate);
  const file = (...keys: object[]) => ({ api: { keys: Object.assign({}, ...keys) } });
  await ready('replica-1', { file: file(keyUntil('monitoring', 24 * 100)) });
  await watch(5);
  await phase('well', 10);
  const env = { WEBHOOK_URL: `https://localhost:${receiver.port}`, NODE_EXTRA_CA_CERTS: trusted };
  await ready('replica-1', { env, file: file(keyUntil('monitoring', 24 * 10), keyUntil('reports', 12)) });
  await watch(5);
  await phase(
    'one key ends in ten days, another and the certificate of the shop within one',
    40,
    'PurchaseWatchExpired',
    'PurchaseWatchExpiresSoon',
  );
  await follow('PurchaseWatchExpiresSoon');
  await ready('replica-1', { file: file(keyUntil('monitoring-2', 24 * 100)) });
  await phase('successors are in their place', 10);
  await receiver.stop();
};

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import { AppError } from '../../src/domain/values/errors.ts';

/** A signing secret that is well formed. */
export const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** What `start` needs at least. */
export const SITE = {
  CHECKOUT_BASE_URL: 'https://checkout.example/',
  CHECKOUT_CLIENT_ID: 'shop',
  CHECKOUT_CLIENT_SECRET: 'hush',
};

/** Writes a file that is gone after the test, and answers its path. */
export function temporaryFile(content: string | Uint8Array, name = 'settings.yaml'): string {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** The settings of a file. */
export function loadFile(content: string, env: NodeJS.ProcessEnv = {}): Settings {
  return loadSettings({ PURCHASE_WATCH_CONFIG: temporaryFile(content), ...env });
}

/** The problems that loading ends with; empty when there are none. */
export function problemsOf(load: () => unknown): string[] {
  try {
    load();
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'configuration') throw error;
    return error.message.split('\n');
  }
}

import type { TLSSocket } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { DAY, HOUR } from '../../../src/domain/values/time.ts';
import { noteCertificate, seenCertificates } from '../../../src/runtime/http/certificates.ts';

afterEach(() => void vi.useRealTimers());

test('a certificate is known for a week after its host was dialled last, and may be asked for within a shorter time', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2126, 0, 1) });
  const shown = { getPeerCertificate: () => ({ valid_to: 'Jan  9 00:00:00 2126 GMT' }) } as unknown as TLSSocket;
  noteCertificate('renamed.example', 443, shown);
  const names = (within?: number) => seenCertificates(within).map(({ name }) => name);
  expect(names(DAY)).toContain('renamed.example:443');
  vi.setSystemTime(Date.now() + DAY + HOUR);
  expect(names(DAY)).not.toContain('renamed.example:443');
  expect(names()).toContain('renamed.example:443');
  vi.setSystemTime(Date.now() + 6 * DAY);
  expect(names()).not.toContain('renamed.example:443');
});

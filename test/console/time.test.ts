import { expect, test } from 'vitest';
import { inPageZone, inZone } from '../../src/console/parts/time.ts';

test('moments of UTC in a sentence are shown in the zone of the page', () => {
  const says = 'At se 3 customers got on in the hour until 2026-11-27 23:24 UTC, and 18 who came later are stuck.';
  expect(inZone('Europe/Stockholm', () => inPageZone(says))).toContain('until 2026-11-28 00:24:00 Europe/Stockholm, and');
  expect(inZone('UTC', () => inPageZone(says))).toContain('until 2026-11-27 23:24:00 UTC, and');
});

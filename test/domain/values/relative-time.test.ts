import { expect, test } from 'vitest';
import { relative } from '../../../src/domain/values/relative-time.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/domain/values/time.ts';

const NOW = Date.UTC(2026, 10, 20);

test.each<[number, string]>([
  [0, 'now'],
  [-SECOND + 1, 'now'],
  [SECOND - 1, 'now'],
  [-SECOND, '1 s ago'],
  [12 * SECOND + 900, 'in 12 s'],
  [-(3 * MINUTE + 59 * SECOND), '3 min ago'],
  [HOUR, 'in 1 h'],
  [-(2 * DAY + 23 * HOUR), '2 d ago'],
])('%i ms from now is %s', (distance, text) => expect(relative(NOW + distance, NOW)).toBe(text));

test('no moment is never', () => expect(relative(null, NOW)).toBe('never'));

import { expect, test } from 'vitest';
import { blame } from '../../../src/domain/purchases/purchase.ts';
import { answer, trouble } from '../../support/a-purchase.ts';

test.each([
  [answer(0), 'nobody'],
  [{ kind: 'same' } as const, 'nobody'],
  [trouble('unknown'), 'purchase'],
  [trouble('malformed'), 'purchase'],
  [trouble('throttled'), 'site'],
  [trouble('refused'), 'site'],
  [trouble('unreachable'), 'site'],
])('$0.kind is held against $1', (seen, whose) => expect(blame(seen)).toBe(whose));

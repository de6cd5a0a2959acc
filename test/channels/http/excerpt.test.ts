import { expect, test } from 'vitest';
import { excerpt } from '../../../src/channels/http/excerpt.ts';
import { hiding } from '../../../src/channels/http/hiding.ts';

test('controls, invisible marks and line breaks become spaces', () => {
  expect(excerpt('a\u0000b\r\nc\u001b[31md\u202ee')).toBe('a b c [31md e');
});

test('a long answer is shortened between characters', () => {
  const short = excerpt(`${'x'.repeat(498)}🦊${'y'.repeat(50)}`);
  expect(short).toBe(`${'x'.repeat(498)}…`);
  expect(excerpt('x'.repeat(500))).toBe('x'.repeat(500));
});

test('a secret that the receiver echoes is hidden, also where it is cut', () => {
  const hide = hiding(['c2VjcmV0']);
  expect(excerpt(`key whsec_c2VjcmV0, again c2VjcmV0`, hide)).toBe('key whsec_[hidden], again [hidden]');
  expect(excerpt(`${'x'.repeat(495)}c2VjcmV0`, hide)).not.toContain('c2Vj');
});

test('where nothing may be kept, nothing is', () => {
  expect(excerpt('anything', () => null)).toBe('');
});

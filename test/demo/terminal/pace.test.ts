import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPace } from '../../../src/demo/terminal/pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('so many lines a second are shown, and the others are counted', () => {
  const shown: string[] = [];
  const pace = createPace<string>({ most: 2, show: (text) => shown.push(text), more: (count) => `+ ${count}` });
  const lines = (...texts: string[]) => texts.forEach(pace.line);
  lines('a', 'b', 'c', 'd', 'e');
  expect(shown.splice(0)).toEqual(['a', 'b']);
  vi.advanceTimersByTime(1_000);
  expect(shown.splice(0)).toEqual(['+ 3']);
  lines('f', 'g', 'h');
  pace.flush();
  // A single one takes no more room than its count.
  expect(shown.splice(0)).toEqual(['f', 'g', 'h']);
  lines('i', 'j', 'k', 'l');
  pace.stop();
  expect(shown).toEqual(['i', 'j', '+ 2']);
});

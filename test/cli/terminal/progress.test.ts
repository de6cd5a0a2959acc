import { expect, test } from 'vitest';
import { progressOn, progressText } from '../../../src/cli/terminal/progress.ts';

function screen({ inPlace, columns = 200 }: { inPlace: boolean; columns?: number }) {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) > 0, columns } as unknown as NodeJS.WritableStream;
  const time = { now: 1_000 };
  const progress = progressOn(stream, { inPlace, now: () => time.now });
  return { written, time, progress };
}

test('says share, lines, rate and what is left when the size is known', () => {
  expect(progressText({ lines: 450_000, bytes: 45, size: 100 }, 15_000)).toBe(
    '45 %, 450 000 lines, 30 000 lines a second, 19 s left',
  );
});

test('says lines and rate when it is not', () => {
  expect(progressText({ lines: 1, bytes: 45, size: null }, 500)).toBe('1 line, 2 lines a second');
});

test('what has just begun, or is empty, is no division by zero', () => {
  expect(progressText({ lines: 0, bytes: 0, size: 100 }, 0)).toBe('0 %, 0 lines, 0 lines a second');
  expect(progressText({ lines: 5, bytes: 0, size: 0 }, 1_000)).toBe('5 lines, 5 lines a second');
});

test('a terminal gets a bar in place, which gives way to what is said and to the end', () => {
  const { written, time, progress } = screen({ inPlace: true });
  progress.reached({ lines: 10, bytes: 50, size: 100 });
  expect(written.splice(0)).toEqual([expect.stringMatching(/^\r\u001b\[K\[#{12}\.{12}\] 50 %, 10 lines/)]);
  progress.reached({ lines: 11, bytes: 51, size: 100 });
  expect(written).toEqual([]);
  progress.say('line 3: is wrong');
  expect(written.splice(0)).toEqual(['\r\u001b[K', 'line 3: is wrong\n']);
  time.now += 200;
  progress.reached({ lines: 12, bytes: 52, size: 100 });
  progress.end();
  expect(written.at(-1)).toBe('\r\u001b[K');
});

test('a bar never wraps', () => {
  const { written, progress } = screen({ inPlace: true, columns: 20 });
  progress.reached({ lines: 10, bytes: 50, size: 100 });
  expect(written[0]!.replace('\r\u001b[K', '')).toHaveLength(19);
});

test('elsewhere a plain line comes every few seconds, and none for what is done at once', () => {
  const { written, time, progress } = screen({ inPlace: false });
  progress.reached({ lines: 10, bytes: 50, size: 100 });
  time.now += 4_999;
  progress.reached({ lines: 20, bytes: 60, size: 100 });
  expect(written).toEqual([]);
  time.now += 1;
  progress.reached({ lines: 30, bytes: 75, size: 100 });
  progress.reached({ lines: 40, bytes: 80, size: 100 });
  progress.end();
  expect(written).toEqual(['75 %, 30 lines, 6 lines a second, 2 s left\n']);
});

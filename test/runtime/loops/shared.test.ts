import { expect, test } from 'vitest';
import { createShared } from '../../../src/runtime/loops/shared.ts';

/** Answers that the test gives, in the order in which they were begun. */
function answers() {
  const begun: PromiseWithResolvers<string>[] = [];
  const ask = createShared(() => {
    const answer = Promise.withResolvers<string>();
    begun.push(answer);
    return answer.promise;
  });
  return { begun, ask };
}

test('those who ask while an answer is being made share the next one', async () => {
  const { begun, ask } = answers();
  const first = ask();
  const others = [ask(), ask(), ask()];
  expect(begun).toHaveLength(1);
  begun[0]!.resolve('one');
  expect(await first).toBe('one');
  await expect.poll(() => begun.length).toBe(2);
  const later = ask();
  begun[1]!.resolve('two');
  expect(await Promise.all(others)).toEqual(['two', 'two', 'two']);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]!.resolve('three');
  expect(await later).toBe('three');
});

test('a failure is that of those who waited for it, and the next answer comes', async () => {
  const { begun, ask } = answers();
  const first = ask();
  const second = ask();
  begun[0]!.reject(new Error('it is away'));
  await expect(first).rejects.toThrow('it is away');
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.resolve('back');
  expect(await second).toBe('back');
});

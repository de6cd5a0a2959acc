import { expect, test } from 'vitest';
import { type AfterRecordingOptions, createAfterRecording } from '../../../src/daemon/poller/after-recording.ts';

test('pauses after failed writes grow, and the first confirmed renewal ends the present one', () => {
  let elapsed = 0;
  const backs: (() => void)[] = [];
  const woken: string[] = [];
  const ownership = { onChange: () => undefined, onBack: (listener: () => void) => backs.push(listener) };
  const { onFailed, pause } = createAfterRecording({
    clock: { monotonic: () => elapsed },
    log: { error: () => undefined },
    writes: { failed: () => undefined },
    ownership,
    wakeLoader: () => woken.push('loader'),
    wakeCalls: () => woken.push('calls'),
  } as unknown as AfterRecordingOptions);
  const fail = (): number => {
    onFailed([], new Error('the connection broke'), false);
    return pause();
  };
  const pauses = [0, 0, 0, 0].map(() => {
    const next = fail();
    elapsed += next;
    return next;
  });
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(fail()).toBe(15_000);
  woken.length = 0;
  for (const back of backs) back();
  expect(pause()).toBe(0);
  expect(woken).toEqual(['loader', 'calls']);
  expect(fail(), 'writes that fail although renewals are confirmed are not repeated at full speed').toBe(15_000);
});

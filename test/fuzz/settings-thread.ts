/** The thread that reads hostile settings. */
import { parentPort } from 'node:worker_threads';
import { attackSettings, type SettingsOrder } from './settings.ts';

parentPort!.on('message', async ({ path, seed, count }: SettingsOrder) => {
  const faults: string[] = [];
  await attackSettings(path, seed, count, (fault) => faults.push(fault));
  parentPort!.postMessage(faults);
});

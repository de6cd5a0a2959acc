import { expect, onTestFinished, test } from 'vitest';
import { pingAlertmanager } from '../../src/channels/alertmanager/alertmanager.ts';
import { DIRECT } from '../../src/domain/values/way.ts';
import { startAlertmanager } from './server.ts';
import { record } from './world.ts';

/** From one repetition to the next, and a little. */
const REPEATED = { timeout: 90_000, interval: 1_000 };

test('a real Alertmanager is alive for doctor, has an incident while it is open, also after it lost its memory, and ends it', async () => {
  let alertmanager = await startAlertmanager();
  const { host } = alertmanager;
  onTestFinished(() => alertmanager.stop());
  await record('alertmanager', {
    speed: 1,
    every: 1_000,
    play: async (world) => {
      const own = { alertmanager: { channels: { ops: { webhookUrl: `http://${host}` } } }, slack: { groupWait: '2s' } };
      const daemon = await world.ready('replica-1', { file: own });
      await world.watch(3);
      const alerts = (): Record<string, string>[] => alertmanager.alerts();
      expect(await pingAlertmanager(`http://${host}`, 10_000, DIRECT)).toMatchObject({ kind: 'alive' });
      expect(alerts()).toEqual([]);
      await world.simulator.control.down();
      const label = { alertname: 'PurchaseWatchIncident', kind: 'unreachable', site: 'default', severity: 'critical' };
      await expect.poll(alerts, REPEATED).toEqual([expect.objectContaining(label)]);
      const [first] = alerts();

      await alertmanager.stop();
      await daemon.says('"alert.not_repeated"', 90_000);
      alertmanager = await startAlertmanager(host);
      await expect.poll(alerts, REPEATED).toEqual([first]);

      await world.simulator.control.up();
      await expect.poll(alerts, REPEATED).toEqual([]);
    },
  });
});

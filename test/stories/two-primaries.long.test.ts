/** Two servers that both take writes: apart from the other failovers, because half of its time is the half minutes between two looks. */
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../support/daemon.ts';
import { arrived, callAll, pool, registered, SESSIONS, sessionsAt, settingsFor, testApp } from '../support/paired-daemon.ts';
import { canPair, startPostgresPair } from '../support/postgres-pair.ts';

test.skipIf(!canPair)(
  'of two primaries every pool uses the one that was promoted last, and people are alerted until one is left',
  async () => {
    const t = await testApp();
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const settings = { ...settingsFor(t, pair.url), SLACK_WEBHOOK_URL: t.slack.url };
    const daemon = startDaemon(['start'], settings);
    onTestFinished(async () => void (await daemon.end('SIGKILL')));
    await daemon.says('"started"', 60_000);
    const [old, promoted] = [pool(pair.primaryUrl, 'test'), pool(pair.standbyUrl, 'test')];
    await arrived(t, await registered(t, old));
    // The old primary never ends, and no connection fails.
    await pair.promote();
    await daemon.says('"database.host_changed"', 60_000);
    await arrived(t, await registered(t, promoted));
    await callAll(daemon);
    await expect.poll(() => sessionsAt(promoted), { timeout: 20_000 }).toEqual(expect.arrayContaining(SESSIONS));
    expect((await sessionsAt(old)).filter((name) => name !== ' test' && name !== ' probe')).toEqual([]);
    const [oldHost, newHost] = [pair.primaryUrl, pair.standbyUrl].map((url) => new URL(url).host) as [string, string];
    // Doctor posts an empty message, which Slack refuses and does not show.
    const messages = () => t.slack.received.map(({ text }) => text).filter((text) => text !== '');
    const headline = (index: number) => messages()[index]?.split('\n')[0];
    // What the old primary took after the promotion is lost, which one message may say together with the two primaries.
    const lost = 'the database came back without its last writes';
    await expect
      .poll(() => messages()[0], { timeout: 120_000 })
      .toMatch(new RegExp(`^🔴 purchase-watch: (two database servers take writes|${lost}, as of)`));
    expect(messages()[0]).toContain(`${newHost} (timeline 2) is used, and ${oldHost} (timeline 1) takes writes, too`);

    // A process that begins now uses the same server, and says what is wrong.
    const command = async (...args: string[]) => {
      const run = startDaemon(args, settings);
      return { code: await run.end('SIGCONT'), text: run.output().replace(/\s+/g, ' ') };
    };
    const doctor = await command('doctor');
    expect([doctor.code, doctor.text]).toEqual([1, expect.stringContaining(`two servers take writes: ${newHost} (timeline 2)`)]);
    expect((await command('status')).text).toMatch(new RegExp(`two database servers take writes|${lost}`, 'i'));
    const { purchaseId } = t.simulator.control.add({ script: [{ state: 'Completed' }] });
    expect((await command('watch', purchaseId)).code).toBe(0);
    await arrived(t, purchaseId);

    await pair.killPrimary();
    await expect
      .poll(() => headline(1), { timeout: 120_000 })
      .toMatch(/^\S+ (One database server takes writes, after \d|purchase-watch: )/);
    expect(messages()[1]).toContain('What was written to the other server');
    expect(messages()[1]).not.toContain('Nothing needs to be done');
    expect(await daemon.end('SIGTERM')).toBe(0);
  },
  360_000,
);

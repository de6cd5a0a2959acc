/** What doctor says of the collector of traces. */
import { afterEach, expect, test, vi } from 'vitest';
import type { Finding } from '../../../src/actions/overview/finding.ts';
import { runCommand } from '../../cli/run.ts';
import { startStandIn } from '../../support/stand-in.ts';

afterEach(() => vi.unstubAllEnvs());

/** What doctor finds about an endpoint, which the SDK reads from the environment of the process. */
async function doctor(endpoint: string): Promise<string[]> {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint);
  const site = { CHECKOUT_BASE_URL: 'http://127.0.0.1:9', CHECKOUT_CLIENT_ID: 'a', CHECKOUT_CLIENT_SECRET: 'b' };
  const nowhere = { ...site, DATABASE_URL: 'postgres://127.0.0.1:9/none', PORT: '0' };
  const { stdout } = await runCommand(['doctor', '--json'], { ...nowhere, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return findings.flatMap(({ about, verdict, found }) => (about === 'traces' ? [`${verdict}: ${found}`] : []));
}

test('a collector gets one empty export; one that refuses it, or is away, is a warning with the reason', async () => {
  const collector = await startStandIn(({ path, bytes }) => ({ kept: { path, size: bytes.length }, answer: { body: '' } }));
  expect(await doctor(collector.origin)).toEqual(['ok: exported by otlp with the sampler parentbased_always_on']);
  expect(collector.received).toEqual([{ path: '/v1/traces', size: 0 }]);
  collector.respond({ status: 401 });
  expect(await doctor(collector.origin)).toEqual(['warning: the collector takes no traces: Unauthorized (401)']);
  await collector.stop();
  expect(await doctor(collector.origin)).toEqual([expect.stringMatching(/^warning: .*ECONNREFUSED/)]);
});

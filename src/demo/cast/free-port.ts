/** Ports of this machine, for the servers of the demo. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The wanted port when it is free now, or 0, which means any. */
export async function freePortOrAny(wanted: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(wanted, '127.0.0.1');
    await once(probe, 'listening');
    return wanted;
  } catch {
    return 0;
  } finally {
    probe.close();
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

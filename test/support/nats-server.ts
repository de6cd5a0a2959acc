/** A real nats-server with JetStream, on a free port and in a folder of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Broker, type Child, freePorts, installed, startChild } from './broker-process.ts';
import type { Pair } from './certificates.ts';
import { holdStill } from './hold-still.ts';

const BINARY = installed('nats-server');

/** Why tests with it cannot run here; null when they can. */
export const noNats: string | null =
  BINARY === null ? 'nats-server is not installed here (Debian: apt-get install nats-server)' : null;

export const NATS_USER = 'shop';
/** Full of what an address has to escape. */
export const NATS_PASSWORD = 'p@ss/w:rd%å';

export interface NatsServer extends Broker {
  readonly port: number;
  /** Where its monitoring answers over HTTP. */
  readonly monitor: string;
}

export interface NatsServerOptions {
  readonly jetstream?: boolean;
  /** Makes it require TLS; a certificate of `localhost`. */
  readonly tls?: Pair;
  /** With TLS: it takes only clients that show a certificate of this authority, in PEM. */
  readonly clientsOf?: string;
  /** More of the configuration file. */
  readonly config?: string;
}

/** Starts one; `shop` may do everything. */
export async function startNatsServer({
  jetstream = true,
  tls,
  clientsOf,
  config = '',
}: NatsServerOptions = {}): Promise<NatsServer> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-nats-'));
  const [port, monitorPort] = (await freePorts(2)) as [number, number];
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const all = `{ user: ${NATS_USER}, password: ${JSON.stringify(NATS_PASSWORD)} }`;
  const file = write(
    'nats.conf',
    [
      `listen: "127.0.0.1:${port}"`,
      `http: "127.0.0.1:${monitorPort}"`,
      ...(jetstream ? [`jetstream { store_dir: ${JSON.stringify(join(folder, 'data'))} }`] : []),
      ...(tls === undefined
        ? []
        : [
            `tls { cert_file: "${write('certificate.pem', tls.certificate)}", key_file: "${write('key.pem', tls.key)}"`,
            clientsOf === undefined ? '}' : `ca_file: "${write('ca.pem', clientsOf)}", verify: true }`,
          ]),
      /authorization|operator/.test(config) ? config : `authorization { users: [${all}] }\n${config}`,
    ].join('\n'),
  );
  let child: Child;
  const start = async (): Promise<void> => {
    child = startChild(BINARY!, ['-c', file], { PATH: process.env.PATH ?? '' });
    await child.says('Server is ready');
  };
  const kill = async (): Promise<void> => {
    child.process.kill('SIGKILL');
    await child.ended;
  };
  await start();
  return {
    port,
    monitor: `http://127.0.0.1:${monitorPort}`,
    url: `nats://${NATS_USER}:${encodeURIComponent(NATS_PASSWORD)}@127.0.0.1:${port}`,
    start,
    kill,
    pause: () => holdStill(child.process.pid!),
    resume: () => void child.process.kill('SIGCONT'),
    stop: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A real Patroni cluster with etcd and HAProxy from Debian's packages, by the files that operators copy (deploy/patroni). */
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { connect } from '../../../src/postgres/connection/database.ts';
import { freePorts, installed, startChild } from '../broker-process.ts';
import { makeAuthority } from '../certificates.ts';
import { canKillPostgres, postgresUser } from '../killable-postgres.ts';
import { createNode, PASSWORD, type PatroniNode } from './node.ts';

const FILES = join(import.meta.dirname, '../../../deploy/patroni');
const NEEDED = ['patroni', 'etcd', 'haproxy'].filter((name) => installed(name) === null);
/** Why no cluster can run here; null when one can. */
export const noPatroni: string | null =
  NEEDED.length === 0 && canKillPostgres
    ? null
    : `${NEEDED.join(', ') || 'Postgres 15'} is not installed here (Debian: apt-get install patroni etcd-server haproxy postgresql-15)`;

/** Quicker than the published file: what a test shows does not depend on them. Patroni 3.0 takes them; later ones raise `ttl` to 20. */
const QUICK = { ttl: 8, loop_wait: 1, retry_timeout: 3 };

export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  /** The address of a database for a daemon: through HAProxy, or with every node in the URL. */
  urls(database: string): { readonly haproxy: string; readonly hosts: string };
  /** The node that is the leader and takes writes, another one than `before`; waits for one. */
  leader(before?: PatroniNode): Promise<PatroniNode>;
  /** Resolves when every node follows the leader, and one of them synchronously where the mode is synchronous. */
  whole(): Promise<void>;
  /** Changes settings of the cluster, as `patronictl edit-config` does. */
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Hands the leadership over, as `patronictl switchover` does. */
  switchOver(): Promise<void>;
  /** Makes a database with an owner of its own, as the page on high availability says. */
  createDatabase(name: string): Promise<void>;
  stop(): Promise<void>;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
  readonly lag?: number | string;
}

interface ClusterOptions {
  /** Settings of the cluster in place of those of the file. */
  readonly dcs?: Readonly<Record<string, unknown>>;
  /** Settings of each Postgres besides. Without `fsync`, unless given: a process that is killed leaves to the kernel what it wrote. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** Starts it, and waits until it is whole. */
export async function startPatroni(
  nodeCount: number,
  { dcs = {}, parameters = { fsync: 'off' } }: ClusterOptions = {},
): Promise<PatroniCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-patroni-'));
  const { uid, gid } = postgresUser();
  if (uid !== undefined) chownSync(folder, uid, gid!);
  chmodSync(folder, 0o700);
  const etcd = await startEtcd(folder);
  const nodes: PatroniNode[] = [];
  const authority = makeAuthority();
  for (let number = 1; number <= nodeCount; number++) {
    const [postgres, rest] = (await freePorts(2)) as [number, number];
    const own = { name: `node${number}`, folder, ports: { postgres, rest }, pair: authority.issue('localhost') };
    nodes.push(await createNode({ ...own, etcd: etcd.url, dcs: { ...QUICK, ...dcs }, parameters }));
  }
  const haproxy = await startHaproxy(folder, nodes);
  const cluster = createCluster(nodes, haproxy.host);
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.stop()));
    await Promise.all([haproxy.kill(), etcd.kill()]);
    rmSync(folder, { recursive: true, force: true });
  };
  for (const node of nodes) node.start();
  try {
    await cluster.whole();
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...cluster, stop };
}

/** The longest that a test waits for what the cluster does by itself. */
const PATIENCE = 120_000;

function createCluster(nodes: readonly PatroniNode[], haproxy: string): Omit<PatroniCluster, 'stop'> {
  const logs = (): string => nodes.map((node) => node.log().slice(-3_000)).join('\n');
  const leader = async (before?: PatroniNode): Promise<PatroniNode> => {
    const candidates = nodes.filter((node) => node !== before);
    for (const until = performance.now() + PATIENCE; performance.now() < until; await delay(50)) {
      const leads = await Promise.all(candidates.map((node) => node.isLeader()));
      const found = candidates[leads.indexOf(true)];
      if (found !== undefined) return found;
    }
    throw new Error(`no node is the leader:\n${logs()}`);
  };
  const send = async (method: string, path: string, body: unknown): Promise<void> => {
    const request = { method, body: JSON.stringify(body), signal: AbortSignal.timeout(60_000) };
    const answer = await (await leader()).ask(path, request);
    if (answer?.ok !== true) throw new Error(`${method} ${path} was answered ${answer?.status}: ${await answer?.text()}`);
  };
  /** Names of nodes that do not follow the leader; '' for a synchronous standby that is missing. */
  const missing = async (): Promise<string[]> => {
    const through = await leader();
    const [cluster, config] = await Promise.all(['/cluster', '/config'].map(async (path) => (await through.ask(path))?.json()));
    const { members } = (cluster ?? { members: [] }) as { members: Member[] };
    const follows = ({ role, state, lag = 0 }: Member) => role === 'leader' || (state === 'running' && Number(lag) < 100_000);
    const absent = nodes.filter(({ name }) => !members.some((member) => member.name === name && follows(member)));
    const isSynchronous = (config as { synchronous_mode?: boolean })?.synchronous_mode === true;
    const lacksStandby = isSynchronous && !members.some(({ role }) => role === 'sync_standby');
    return [...absent.map(({ name }) => name), ...(lacksStandby ? [''] : [])];
  };
  const whole = async (): Promise<void> => {
    const began = performance.now();
    let isHelped = false;
    for (let left = await missing(); left.length > 0; left = await missing()) {
      const waited = performance.now() - began;
      if (waited > PATIENCE) throw new Error(`the cluster is not whole, without ${left.join()}:\n${logs()}`);
      // A standby that was killed while it caught up may never become consistent. An operator makes it again: patronictl reinit.
      if (waited > PATIENCE / 3 && !isHelped) {
        isHelped = true;
        for (const node of nodes.filter(({ name }) => left.includes(name))) {
          console.warn(`${node.name} does not follow the leader by itself and is made again`);
          await node.ask('/reinitialize', { method: 'POST', body: '{"force": true}' });
        }
      }
      await delay(100);
    }
  };
  return {
    nodes,
    urls: (database) => {
      const url = (hosts: string, attributes = '') => `postgres://${database}:${PASSWORD}@${hosts}/${database}${attributes}`;
      const all = nodes.map(({ outside }) => outside.postgres).join();
      return { haproxy: url(haproxy), hosts: url(all, '?target_session_attrs=read-write') };
    },
    leader,
    whole,
    configure: async (settings) => {
      await send('PATCH', '/config', settings);
      await whole();
    },
    switchOver: async () => send('POST', '/switchover', { leader: (await leader()).name }),
    createDatabase: async (name) => {
      const sql = connect((await leader()).url('postgres'), { max: 1 });
      await sql.unsafe(`create role ${name} login password '${PASSWORD}'`);
      await sql.unsafe(`create database ${name} owner ${name}`);
      await sql.end();
    },
  };
}

/** One etcd: that it survives machines is its own promise. */
async function startEtcd(folder: string): Promise<{ url: string; kill(): Promise<void> }> {
  const [clients, peers] = (await freePorts(2)) as [number, number];
  const [url, peer] = [`http://127.0.0.1:${clients}`, `http://127.0.0.1:${peers}`];
  const file = join(folder, 'etcd.yml');
  const settings = {
    ...parse(readFileSync(join(FILES, 'etcd.yml'), 'utf8')),
    'data-dir': join(folder, 'etcd'),
    'listen-peer-urls': peer,
    'listen-client-urls': url,
    'initial-advertise-peer-urls': peer,
    'advertise-client-urls': url,
    'initial-cluster': `node1=${peer}`,
    // A flush to a disk that other tests keep busy takes as long as an election.
    'unsafe-no-fsync': true,
  };
  writeFileSync(file, stringify(settings));
  const child = startChild(installed('etcd')!, ['--config-file', file], { PATH: process.env.PATH ?? '' });
  await child.says('ready to serve client requests');
  return { url, kill: () => ended(child) };
}

async function startHaproxy(folder: string, nodes: readonly PatroniNode[]): Promise<{ host: string; kill(): Promise<void> }> {
  const [port] = (await freePorts(1)) as [number];
  const host = `127.0.0.1:${port}`;
  let text = readFileSync(join(FILES, 'haproxy.cfg'), 'utf8').replace('127.0.0.1:5432', host);
  for (const number of [1, 2, 3]) {
    const node = nodes[number - 1];
    const line = `server node${number} 10.0.0.1${number}:5432 check port 8008`;
    if (!text.includes(line)) throw new Error(`deploy/patroni/haproxy.cfg has no line "${line}"`);
    const rest = node?.outside.rest.split(':')[1];
    text = text.replace(line, node === undefined ? '' : `server node${number} ${node.outside.postgres} check port ${rest}`);
  }
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, text);
  const child = startChild(installed('haproxy')!, ['-db', '-f', file], { PATH: process.env.PATH ?? '' });
  return { host, kill: () => ended(child) };
}

async function ended(child: ReturnType<typeof startChild>): Promise<void> {
  child.process.kill('SIGKILL');
  await child.ended;
}

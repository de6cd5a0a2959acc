/** What people and shops do by the API at any moment. */

import type { Excuse } from '../model.ts';
import type { World } from '../world.ts';
import type { Act } from './act.ts';
import { registerAgain } from './registering.ts';

/** A call without an answer is repeated so often, after so many milliseconds. */
const TRIES = 5;
const AGAIN_AFTER = 4_000;

/** Begins what people do; what it comes to is noted as excuses. */
export function ask(world: World, act: Act): void {
  switch (act.does) {
    case 'asks for polls':
      for (const id of world.outside.ids()) void world.call('POST', `/v1/purchases/${id}/poll`);
      break;
    case 'stops watching':
      void leave(world, act.purchase, 'stopped');
      break;
    case 'erases':
      void leave(world, act.purchase, 'erased');
      break;
    case 'wavers':
      void waver(world, act.purchase, world.now + act.lasts);
      break;
    case 'silences':
      world.excuses.push({ kind: 'silenced', at: world.wall });
      void world.call('POST', '/v1/silences', { everything: true, reason: 'they move the service', by: 'Ada', endsAt: '2m' });
      break;
    case 'acknowledges':
      void acknowledge(world);
      break;
    case 'resumes':
      for (const { name } of world.outside.receivers) void world.call('POST', `/v1/subscribers/${name}/resume`);
      break;
    case 'replays':
      void repeat(world, act.receiver, 'replay', { since: '1h' });
      break;
    case 'tests':
      void repeat(world, act.receiver, 'test');
      break;
    case 'retries deliveries':
      void world.call('POST', `/v1/subscribers/${world.outside.receivers[act.receiver]!.name}/retry`, {});
  }
}

/** A shop has a purchase stopped or erased. Until the answer says that it was done, nobody knows. */
async function leave(world: World, number: number, kind: 'stopped' | 'erased'): Promise<void> {
  const ids = world.outside.ids();
  const purchaseId = ids[number % ids.length]!;
  world.leave(purchaseId);
  world.excuses.push({ kind, at: world.wall, purchaseId });
  const path = `/v1/purchases/${purchaseId}`;
  const { era } = world;
  const answer =
    kind === 'stopped' ? await world.call('DELETE', path) : await world.call('POST', `${path}/forget`, { dryRun: false });
  if (answer === null || answer.status >= 300 || world.era !== era) return;
  world.excuses.push({ kind, at: world.wall, purchaseId });
  if (kind === 'stopped') world.untold.delete(purchaseId);
  else world.calm.erased(purchaseId, world.wall);
}

/** A shop does this and that to one purchase, often while a poll of it is under way, and has it watched in the end. */
async function waver(world: World, number: number, until: number): Promise<void> {
  const { scheduler, random } = world.shell;
  const ids = world.outside.ids();
  const purchaseId = ids[number % ids.length]!;
  if (world.untold.has(purchaseId)) return;
  world.leave(purchaseId);
  const own: Excuse = { kind: 'stopped', at: world.wall, purchaseId };
  world.excuses.push(own);
  const path = `/v1/purchases/${purchaseId}`;
  let isAnnounced = true;
  while (world.now < until) {
    const [method, where] = random.one([
      ['DELETE', path],
      ['POST', `${path}/poll`],
      ['WATCH', path],
    ] as const);
    if (method === 'WATCH') registerAgain(world, [purchaseId], { isUntold: true });
    else isAnnounced = ((await world.call(method, where))?.status ?? 500) < 500 && isAnnounced;
    await new Promise<void>((resolve) => void scheduler.after(10 + random.below(600), resolve, world.outside.place));
  }
  const isLeft = (each: Excuse): boolean => 'purchaseId' in each && each.purchaseId === purchaseId && each !== own;
  // A call without an answer, or whose statement the daemon gave up, may still be under way, and so may what another person asked for meanwhile.
  if (!isAnnounced || world.excuses.slice(world.excuses.indexOf(own)).some(isLeft)) return;
  world.untold.delete(purchaseId);
  registerAgain(world, [purchaseId]);
}

async function acknowledge(world: World): Promise<void> {
  const listed = await world.call('GET', '/v1/incidents?status=open');
  if (listed?.status !== 200) return;
  for (const { id } of (JSON.parse(listed.text) as { data: { id: string }[] }).data)
    void world.call('POST', `/v1/incidents/${id}/acknowledge`, { by: 'Ada' });
}

/** Asks with a key until an answer comes: two answers to one key must be the same. */
async function repeat(world: World, receiver: number, what: 'replay' | 'test', body?: unknown): Promise<void> {
  const { scheduler, random } = world.shell;
  const path = `/v1/subscribers/${world.outside.receivers[receiver]!.name}/${what}`;
  const key = `sim-${random.below(1e9)}`;
  if (what === 'test') world.tests++;
  for (let tries = 0; tries < TRIES; tries++) {
    const answer = await world.call('POST', path, body, { 'idempotency-key': key });
    if (answer !== null && answer.status < 500) return;
    await new Promise<void>((resolve) => void scheduler.after(AGAIN_AFTER, resolve, world.outside.place));
  }
}

/** Has the acts of a plan happen. */
import type { Act } from './plan.ts';
import type { World } from './world.ts';

/** Begins an act; what lasts for a while ends by itself. */
export function begin(world: World, act: Act): void {
  const { shell, daemons, outside, server } = world;
  const { scheduler } = shell;
  const later = (lasts: number, mended: () => void): void => void scheduler.after(lasts, mended, scheduler.world);
  switch (act.does) {
    case 'registers':
      scheduler.in(outside.place, () => void register(world, outside.make(act.count, act.life), act.by));
      break;
    case 'kills':
      daemons.kill(act.daemon);
      break;
    case 'starts':
      daemons.start(act.daemon);
      break;
    case 'stops':
      daemons.stop(act.daemon);
      break;
    case 'freezes':
      daemons.freeze(act.daemon, act.lasts);
      break;
    case 'cuts off': {
      const alone = daemons.place(act.daemon);
      world.cut.add(alone);
      later(act.lasts, () => world.cut.delete(alone));
      break;
    }
    case 'restarts the database':
      scheduler.in(server.place, () => server.restart());
      break;
    case 'loses statements':
      world.loses = act.share;
      later(act.lasts, () => {
        world.loses = 0;
      });
      break;
    case 'spoils answers':
      outside.simulator.control.fail({ kind: act.kind, share: act.share, for: act.lasts });
      break;
    case 'spoils a receiver': {
      const receiver = outside.receivers[act.receiver]!;
      receiver.mood = act.mood;
      later(act.lasts, () => {
        receiver.mood = null;
      });
      break;
    }
    case 'slows the network':
      world.slow = act.ms;
      later(act.lasts, () => {
        world.slow = 0;
      });
      break;
    case 'asks for polls':
      for (const id of outside.ids()) void world.call('POST', `/v1/purchases/${id}/poll`);
  }
}

/** Has a shop register purchases. */
export async function register(world: World, ids: readonly string[], by: 'sql' | 'api'): Promise<void> {
  const known = (): void => {
    for (const id of ids) {
      world.registered.add(id);
      world.calm.registered(id, world.shell.scheduler.begin + world.shell.scheduler.now);
    }
  };
  if (by === 'sql') {
    const sql = `insert into purchase_watch.purchases (purchase_id) values ${ids.map((id) => `('${id}')`).join()}`;
    world.sql(sql, (answer) => {
      if (answer.includes('ERROR')) world.problems.push(`an insert failed: ${answer.toString('latin1')}`);
      else known();
    });
    return;
  }
  const answer = await world.call('POST', '/v1/purchases/batch', { purchases: ids.map((purchaseId) => ({ purchaseId })) });
  if (answer !== null && answer.status < 300) known();
}

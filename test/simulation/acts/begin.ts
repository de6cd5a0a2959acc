/** Has the acts of a plan happen. */
import { connect } from '../../../src/postgres/connection/database.ts';
import { watchAttempts, watchCalls } from '../calls.ts';
import { excuse } from '../looks.ts';
import type { World } from '../world.ts';
import type { Act } from './act.ts';
import { ask } from './people.ts';
import { register, registerAgain } from './registering.ts';
import { overstep, undoOrder, writeRow } from './sql.ts';
import { upgrade } from './upgrade.ts';

/** Milliseconds. */
const LATE = 2_000;

/** Begins an act; what lasts for a while ends by itself. */
export function begin(world: World, act: Act): void {
  const { daemons, outside } = world;
  excuse(world, act);
  switch (act.does) {
    case 'registers':
      world.shell.scheduler.in(outside.place, () => register(world, act));
      break;
    case 'registers again':
      registerAgain(world, outside.ids());
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
    case 'changes settings':
      daemons.change(act.daemon, act.to);
      break;
    case 'reloads settings':
      daemons.reload(act.daemon, act.to);
      break;
    case 'upgrades':
      upgrade(world, act);
      break;
    case 'stops all':
      daemons.rest(act.lasts, outside.place);
      break;
    case 'steps a clock':
      world.step(act.of, act.by);
      break;
    case 'spoils answers':
      spoil(world, act);
      break;
    default:
      if ('lasts' in act) strain(world, act);
      else disturb(world, act);
      ask(world, act);
  }
}

/** Answers of the service are odd or late for a while. */
function spoil(world: World, act: Extract<Act, { does: 'spoils answers' }>): void {
  const { control } = world.outside.simulator;
  watchCalls(world, act);
  if (act.kind !== 'late') {
    control.fail({ kind: act.kind, share: act.share, for: act.lasts });
    return;
  }
  const { scheduler } = world.shell;
  control.setLatency(LATE);
  scheduler.after(act.lasts, () => control.setLatency(0), scheduler.world);
}

/** What happens to the database in a moment. */
function disturb(world: World, act: Act): void {
  if (act.does === 'restarts the database') world.shell.scheduler.in(world.server.place, () => world.server.restart());
  if (act.does === 'copies the database') world.copy();
  if (act.does === 'goes back') world.goBack(act.to);
  if (act.does === 'writes a row') writeRow(world, act.purchase, act.how);
  if (act.does === 'oversteps') overstep(world);
  if (act.does === 'undoes an order') undoOrder(world);
}

/** What is so for a while. */
function strain(world: World, act: Extract<Act, { lasts: number }>): void {
  const { scheduler } = world.shell;
  const later = (end: () => void): void => void scheduler.after(act.lasts, end, scheduler.world);
  switch (act.does) {
    case 'cuts off': {
      const alone = world.daemons.place(act.daemon);
      world.cut.add(alone);
      later(() => world.cut.delete(alone));
      break;
    }
    case 'spoils a receiver': {
      const receiver = world.outside.receivers[act.receiver]!;
      receiver.mood = act.mood;
      receiver.share = act.share;
      watchAttempts(world, act);
      later(() => {
        receiver.mood = null;
      });
      break;
    }
    case 'refuses writes':
      world.sql('set default_transaction_read_only = on');
      later(() => world.sql('set default_transaction_read_only = off'));
      break;
    case 'loses notifications':
      world.server.isDeaf = true;
      later(() => {
        world.server.isDeaf = false;
      });
      break;
    case 'holds the database':
      void hold(world, act.lasts);
      break;
    case 'slows the network':
      world.slow = act.ms;
      later(() => {
        world.slow = 0;
      });
      break;
    case 'refuses connections':
      world.server.refuses = act.code;
      later(() => {
        world.server.refuses = null;
      });
      break;
    case 'loses calls':
    case 'doubles calls':
      world.outside.calls = { [act.does === 'loses calls' ? 'lost' : 'doubled']: act.share };
      later(() => {
        world.outside.calls = {};
      });
      break;
    case 'loses statements':
    case 'fails statements': {
      const wanted = { share: act.share, code: act.does === 'fails statements' ? act.code : null };
      world.spoils = wanted;
      later(() => {
        if (world.spoils === wanted) world.spoils = null;
      });
    }
  }
}

/** A session has a transaction open for so many milliseconds, and everybody else waits. */
async function hold(world: World, lasts: number): Promise<void> {
  const { scheduler } = world.shell;
  const { place } = world.outside;
  const until = world.now + lasts;
  world.holds++;
  const rest = (): Promise<void> => new Promise((resolve) => void scheduler.after(2_000, resolve, place));
  const sql = scheduler.in(place, () => connect('postgres://postgres@127.0.0.1:5501/postgres', { max: 1 }));
  const waiting = scheduler.in(place, () =>
    sql.begin(async (tx) => {
      while (world.now < until) {
        await tx`select 1`;
        await rest();
      }
    }),
  );
  await waiting.catch(() => undefined);
  await scheduler.in(place, () => sql.end({ timeout: 1 })).catch(() => undefined);
  world.holds--;
}

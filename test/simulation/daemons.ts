/** The daemons of a world: each a whole app in a place of its own, which a supervisor starts again. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { createLogger } from '../../src/runtime/logger.ts';
import type { Variation } from './acts/act.ts';
import type { SimSocket } from './world/network.ts';
import type { Shell } from './world/process.ts';
import { type Place, place } from './world/time.ts';

export const KEY = 'sim-key-0123456789abcdef0123456789abcdef';
/** How V8 names a function in a stack depends on what it has compiled. */
const STACK = /,"stack":"(?:[^"\\]|\\.)*"/g;

/** Connections to the database, and one or two that are kept to the service, receivers, channels and callers of the API each. */
const MOST_SOCKETS = 12 + 20;
/** Sixteen loops, and two for each socket; 33 to 45 were seen. */
const MOST_TIMERS = 16 + 2 * MOST_SOCKETS;
/** A daemon has stopped by itself within this many milliseconds (SHUTDOWN_TIMEOUT and some). */
const STOPPED_AFTER = 12_000;

interface Daemon {
  place: Place;
  app: Awaited<ReturnType<typeof createApp>> | null;
  starts: number;
  /** Whether it has begun and does not serve yet. */
  isStarting: boolean;
  /** How its settings differ from the usual ones. */
  variation: Variation;
  /** Milliseconds by which its machine's wall clock is off. */
  skew: number;
}

export class Daemons {
  /** What all of them logged, in order. */
  readonly log: string[] = [];
  readonly #shell: Shell;
  readonly #all: Daemon[];
  readonly #settings: (variation: Variation) => string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'purchase-watch-simulation-'));

  /** Until when no daemon starts, in milliseconds since the start of the world. */
  restsUntil = 0;

  /** `settings` answers the settings file with which a daemon starts. */
  constructor(shell: Shell, count: number, settings: (variation: Variation) => string) {
    this.#shell = shell;
    this.#all = Array.from({ length: count }, (_, index) => ({
      place: place(`daemon ${index}`),
      app: null,
      starts: 0,
      isStarting: false,
      variation: {},
      skew: 0,
    }));
    this.#settings = settings;
  }

  place(index: number): Place {
    return this.#all[index]!.place;
  }

  /** Where the API of the first daemon is that answers, or null. */
  url(): string | null {
    return this.#all.find(({ app }) => app?.url())?.app?.url() ?? null;
  }

  /** Whether a daemon runs that the network reaches. */
  anyReaches(cut: ReadonlySet<Place>): boolean {
    return this.#all.some(({ app, place: own }) => app !== null && own.state === 'running' && !cut.has(own));
  }

  /** Daemons that hold more sockets or timers than at rest they should. */
  leaks(open: ReadonlySet<SimSocket>): string[] {
    return this.#all.flatMap(({ place: own }) => {
      const held = [...open].filter((socket) => socket.place === own && !socket.destroyed).length;
      const timers = this.#shell.scheduler.timersOf(own);
      return [
        ...(held > MOST_SOCKETS ? [`${own.name} holds ${held} sockets at rest`] : []),
        ...(timers > MOST_TIMERS ? [`${own.name} has ${timers} timers at rest`] : []),
      ];
    });
  }

  start(index: number): void {
    const daemon = this.#all[index]!;
    if (daemon.app !== null || daemon.isStarting || this.#shell.scheduler.now < this.restsUntil) return;
    daemon.starts++;
    daemon.isStarting = true;
    daemon.place = place(`daemon ${index} start ${daemon.starts}`);
    daemon.place.skew = daemon.skew;
    const settings = this.#read(index);
    const destination = {
      write: (line: string) => this.log.push(`${index} ${line.replaceAll(STACK, '')}`),
    } as unknown as NodeJS.WritableStream;
    const { place: own } = daemon;
    this.#shell.scheduler.in(own, () => {
      createApp(settings, { log: createLogger({ level: 'debug', destination }), random: this.#shell.random.next })
        .then(async (app) => {
          daemon.app = app;
          daemon.isStarting = false;
          await app.start();
        })
        .catch((error: unknown) => {
          this.log.push(`${index} ended: ${(error as Error).message}`);
          // A supervisor starts it again.
          if (daemon.place === own) this.kill(index);
          this.#shell.scheduler.after(2_000, () => this.start(index), this.#shell.scheduler.world);
        });
    });
  }

  /** The settings that a daemon starts with. */
  #read(index: number): ReturnType<typeof loadSettings> {
    const { variation, starts } = this.#all[index]!;
    const path = join(this.#folder, `settings-${index}.yaml`);
    writeFileSync(path, this.#settings(variation));
    return loadSettings({
      PURCHASE_WATCH_CONFIG: path,
      // What the product keeps for a whole process it keeps by this address, and each start is a process of its own.
      DATABASE_URL: `postgres://postgres@127.0.0.1:${5501 + index}/${this.#shell.scheduler.begin}-${index}-${starts}`,
      DATA_DIR: this.#folder,
      API_KEY: KEY,
      PORT: `${7000 + 100 * index + starts}`,
      HOST: '127.0.0.1',
      LOG_LEVEL: 'debug',
      // To find out, a start asks on one connection while another has a transaction, and the engine has one session for both.
      DATABASE_POOL_MODE: 'session',
    });
  }

  kill(index: number): void {
    const daemon = this.#all[index]!;
    daemon.place.state = 'dead';
    daemon.app = null;
    daemon.isStarting = false;
    this.#shell.network.breakOf(daemon.place);
  }

  stop(index: number): void {
    const daemon = this.#all[index]!;
    const { app, place: own } = daemon;
    if (daemon.isStarting) this.kill(index);
    if (app === null) return;
    daemon.app = null;
    this.#shell.scheduler.in(
      own,
      () =>
        void app.stop().then(() => {
          own.state = 'dead';
          this.#shell.network.breakOf(own);
        }),
    );
  }

  freeze(index: number, lasts: number): void {
    const { scheduler } = this.#shell;
    const frozen = this.place(index);
    if (frozen.state !== 'running') return;
    frozen.state = 'frozen';
    scheduler.after(lasts, () => frozen.state === 'frozen' && scheduler.thaw(frozen), scheduler.world);
  }

  freezeAll(lasts: number): void {
    for (const index of this.#all.keys()) this.freeze(index, lasts);
  }

  /** Has a daemon go on with other settings, as after SIGHUP. */
  reload(index: number, to: Variation): void {
    const daemon = this.#all[index]!;
    daemon.variation = to;
    if (daemon.app === null) return;
    const { app } = daemon;
    const failed = (error: Error): void => void this.log.push(`${index} did not reload: ${error.message}`);
    this.#shell.scheduler.in(daemon.place, () => void app.reload(this.#read(index)).catch(failed));
  }

  /** Has a daemon start again with other settings, as in a rolling change. */
  change(index: number, to: Variation): void {
    const { scheduler } = this.#shell;
    this.#all[index]!.variation = to;
    this.stop(index);
    scheduler.after(STOPPED_AFTER, () => this.start(index), scheduler.world);
  }

  /** No daemon runs for so many milliseconds; then all do. What is outside of them need not count the seconds of that time. */
  rest(lasts: number, outside: Place): void {
    const { scheduler } = this.#shell;
    const all = [...this.#all.keys()];
    for (const index of all) this.stop(index);
    const kill = (): void => {
      for (const index of all) this.kill(index);
      outside.state = 'frozen';
    };
    scheduler.after(STOPPED_AFTER, kill, scheduler.world);
    this.restsUntil = scheduler.now + lasts;
    scheduler.after(
      lasts,
      () => {
        scheduler.thaw(outside);
        for (const index of all) this.start(index);
      },
      scheduler.world,
    );
  }

  /** Steps the wall clock of a daemon's machine. */
  step(index: number, by: number): void {
    const daemon = this.#all[index]!;
    daemon.skew += by;
    daemon.place.skew = daemon.skew;
  }

  /** Has every daemon run, with the same settings. */
  mend(variation: Variation): void {
    this.#all.forEach((daemon, index) => {
      this.step(index, -daemon.skew);
      if (daemon.place.state === 'frozen') this.#shell.scheduler.thaw(daemon.place);
      if (JSON.stringify(daemon.variation) !== JSON.stringify(variation)) this.stop(index);
      daemon.variation = variation;
      this.start(index);
    });
  }
}

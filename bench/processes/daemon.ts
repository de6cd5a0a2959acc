/** The daemon, without API and console as `start --worker` runs it by default, with poll intervals of the bench's choice. */

import { Session } from 'node:inspector/promises';
import type { StatePolicy } from '../../src/domain/polling/poll-plan.ts';
import { type Parts, partsOf } from '../budget/parts.ts';
import { answer } from './answer.ts';
import { countPromises, countWork, type Work } from './work.ts';

export interface DaemonSettings {
  readonly env: Record<string, string>;
  /** Every state is polled this often and never stuck; null: the usual plan. */
  readonly every: number | null;
  /** Runs what `npm run build` made, which is what the package holds: sources whose types Node.js strips take 40 MB more. */
  readonly isBuilt?: boolean;
  /** With the API, on a free port; answers its address to `url`. */
  readonly api?: boolean;
}

let url: string | null = null;
/** Microseconds. */
const SAMPLED_EVERY = 500;
let counting: (() => Work) | null = null;
let countingPromises: (() => number) | null = null;
let profiling: { readonly session: Session; readonly since: Times } | null = null;

/** What a daemon did between `startProfile` and `stopProfile`. */
export interface Profiled {
  /** Of the thread that runs the daemon's code; together they are its processor time. The profile itself keeps other threads busy. */
  readonly parts: Parts;
  /** Share of the time in which the event loop waited. */
  readonly idle: number;
}

/** Milliseconds of the event loop, and microseconds of processor time of its thread. */
interface Times {
  readonly at: number;
  readonly idle: number;
  readonly thread: number;
}

answer({
  start: async ({ env, every, api = false, isBuilt = false }: DaemonSettings) => {
    const { createApp, loadSettings } = await codeOf(isBuilt);
    const settings = loadSettings(env, { requireSite: true });
    if (every !== null) {
      const plan: StatePolicy = {
        poll: { first: every, growth: 0, most: every },
        stuckAfter: null,
        auto: false,
        final: false,
        recheck: [],
      };
      const states = new Map([...settings.policy.states.keys()].map((state) => [state, plan]));
      settings.policy = { ...settings.policy, states, fallback: plan };
    }
    const started = performance.now();
    const app = await createApp(settings, { worker: !api });
    await app.start();
    url = app.url();
    process.on('SIGTERM', () => void app.stop().then(() => process.exit()));
    return performance.now() - started;
  },
  url: () => url,
  startWork: (): void => {
    counting = countWork();
  },
  stopWork: (): Work => counting!(),
  startPromises: (): void => {
    countingPromises = countPromises();
  },
  stopPromises: (): number => countingPromises!(),
  startProfile: async (): Promise<void> => {
    const session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLED_EVERY });
    await session.post('Profiler.start');
    profiling = { session, since: timesNow() };
  },
  stopProfile: async (): Promise<Profiled> => {
    const { session, since } = profiling!;
    const now = timesNow();
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    return { parts: partsOf(profile, now.thread - since.thread), idle: (now.idle - since.idle) / (now.at - since.at) };
  },
});

async function codeOf(isBuilt: boolean) {
  const load = <Module>(name: string): Promise<Module> =>
    import(new URL(isBuilt ? `../../dist/src/${name}.js` : `../../src/${name}.ts`, import.meta.url).href);
  const { createApp } = await load<typeof import('../../src/app.ts')>('app');
  const { loadSettings } = await load<typeof import('../../src/config/load-settings.ts')>('config/load-settings');
  return { createApp, loadSettings };
}

function timesNow(): Times {
  const { user, system } = process.threadCpuUsage();
  return { at: performance.now(), idle: performance.nodeTiming.idleTime, thread: user + system };
}

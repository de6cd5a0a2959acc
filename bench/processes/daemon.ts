/** The daemon, without API and console as `start --worker` runs it by default, with poll intervals of the bench's choice. */

import { createApp } from '../../src/app.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { StatePolicy } from '../../src/domain/purchases/states.ts';
import { answer } from './answer.ts';

export interface DaemonSettings {
  readonly env: Record<string, string>;
  /** Every state is polled this often and never stuck; null: the usual plan. */
  readonly every: number | null;
  /** With the API, on a free port; answers its address to `url`. */
  readonly api?: boolean;
}

let url: string | null = null;

answer({
  start: async ({ env, every, api = false }: DaemonSettings) => {
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
});

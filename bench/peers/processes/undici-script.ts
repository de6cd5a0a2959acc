/** The usual script, tuned: undici's `request`, as many calls at once as the daemon has, and a larger pool. */
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import { httpByUndici } from './http-undici.ts';
import { runScript } from './script.ts';

answer({
  start: (settings: PeerSettings) => runScript(settings, httpByUndici(settings), { atOnce: settings.inFlight, pool: 20 }),
});

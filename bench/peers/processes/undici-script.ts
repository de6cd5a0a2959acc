/** The usual script, tuned: undici's `request` and as many calls at once as the daemon has. */
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import { httpByUndici } from './http-undici.ts';
import { runScript } from './script.ts';

answer({
  start: (settings: PeerSettings) => runScript(settings, httpByUndici(settings), settings.inFlight),
});

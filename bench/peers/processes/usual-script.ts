/** The usual script: `fetch`, ten at once, and the pool of ten connections that `pg` opens unless it is asked for another. */
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import { httpByFetch } from './http-fetch.ts';
import { runScript } from './script.ts';

answer({ start: (settings: PeerSettings) => runScript(settings, httpByFetch(settings), { atOnce: 10, pool: 10 }) });

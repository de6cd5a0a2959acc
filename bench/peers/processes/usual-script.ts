/** The usual script: `fetch`, ten at once, on the ten connections that `pg` opens unless it is asked for more. */
import { answer } from '../../processes/answer.ts';
import type { PeerSettings } from '../settings.ts';
import { httpByFetch } from './http-fetch.ts';
import { runScript } from './script.ts';

answer({ start: (settings: PeerSettings) => runScript(settings, httpByFetch(settings), 10) });

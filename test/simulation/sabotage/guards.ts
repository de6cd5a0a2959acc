/** All guards that are taken out one at a time. */
import { ALERTING } from './alerting.ts';
import { ASKING } from './asking.ts';
import type { Guard } from './guard.ts';
import { HISTORY } from './history.ts';
import { RECORDING } from './recording.ts';
import { SHARING } from './sharing.ts';
import { TELLING } from './telling.ts';

export const GUARDS: readonly Guard[] = [...RECORDING, ...ASKING, ...SHARING, ...TELLING, ...ALERTING, ...HISTORY];

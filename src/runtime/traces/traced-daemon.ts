/** Facts that traces say of this daemon, and where their failures are logged. */
import type { Logger } from '../logger.ts';

export interface TracedDaemon {
  readonly replica: string;
  readonly version: string;
  readonly log: Logger;
}

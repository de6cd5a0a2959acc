/** Whether purchases of a site can be read at all, whatever the reason when they cannot. */
import type { Observation } from './purchase.ts';

/** Why no purchase of a site can be read: what its answers, or their absence, have in common. */
export type SiteTrouble = Exclude<Observation['kind'], 'seen' | 'same'>;

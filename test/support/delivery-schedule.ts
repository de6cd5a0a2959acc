/** The waits between attempts of a daemon whose settings name none. */
import { loadSettings } from '../../src/config/load-settings.ts';

export const DEFAULT_DELIVERY_SCHEDULE = loadSettings({}).webhooks.schedule;

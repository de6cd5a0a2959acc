/** The settings of a namespace as calls answer them. */
import type { z } from '@hono/zod-openapi';
import type { Control, Settings } from '../contract/control.ts';
import { jsonAnswer } from './definitions.ts';
import { settingsSchema } from './schemas.ts';

export const SETTINGS = jsonAnswer('The settings after it.', settingsSchema);

/** The settings as JSON has them: what never ends is null. */
export function settingsOf(control: Control): z.output<typeof settingsSchema> {
  const { faults, sites, brokenPages, ...rest }: Settings = control.settings();
  const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
  return {
    ...rest,
    sites: [...sites],
    brokenPages: [...brokenPages],
    faults: faults.map((fault) => ({ ...fault, remaining: finite(fault.remaining), until: finite(fault.until) })),
  };
}

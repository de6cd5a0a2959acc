/** A Slack message before it is laid out. */
import { humanDuration } from '../core/duration.ts';
import type { Instant } from '../core/purchase.ts';

/** All texts are markup. */
export interface Draft {
  readonly headline: string;
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly paragraphs: readonly (readonly [title: string, text: string])[];
}

export const ALARM = '🔴';
export const OVER = '✅';
/** Headlines must stay within the 150 characters of a header block. */
export const LONGEST_NAME = 36;

/** How long it was from one moment to another. */
export function lasting(from: Instant, to: Instant): string {
  return humanDuration(Math.max(0, to - from));
}

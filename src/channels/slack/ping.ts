/** Finds out whether a Slack webhook is alive without showing a message: Slack refuses an empty one, and says why. */

import type { Milliseconds } from '../../domain/values/time.ts';
import { DIRECT } from '../../domain/values/way.ts';
import { networkFailureOf } from '../http/network-failure.ts';
import { DeadlinePassed } from '../http/post.ts';
import { createPoster } from '../http/service.ts';
import type { Ping } from '../outgoing/channel-kind.ts';

const EMPTY = /^(no_text|invalid_payload|invalid_blocks|missing_text_or_fallback_or_attachments)\b/;

/** Answers after which a webhook will never work again, whatever their status, and what each means. */
export const DEAD_WORDS: ReadonlyMap<string, string> = new Map([
  ['no_service', 'there is no such webhook any more'],
  ['no_service_id', 'the address is not complete'],
  ['no_active_hooks', 'the webhook was switched off'],
  ['invalid_token', 'the address is not right: its last part is not accepted'],
  ['no_team', 'there is no such workspace'],
  ['team_disabled', 'the workspace was closed'],
  ['channel_is_archived', 'its channel was archived'],
  ['channel_not_found', 'its channel was deleted'],
  ['action_prohibited', 'an administrator has restricted posting to its channel'],
]);

/** Posts an empty payload; no text holds the address, which is a secret. */
export async function pingSlack(url: string, timeout: Milliseconds, way = DIRECT): Promise<Ping> {
  const poster = createPoster({ url, timeout, way });
  try {
    const { status, body, error, isSent, tookMs } = await poster.post('{}');
    if (status !== null && error === null) return meaningOf(status, body.trim(), tookMs);
    const isLate = error instanceof DeadlinePassed;
    return {
      kind: 'silent',
      detail: isLate ? `there was no answer within ${timeout} ms` : networkFailureOf(error, { isSent }).detail,
    };
  } finally {
    await poster.destroy();
  }
}

function meaningOf(status: number, word: string, tookMs: Milliseconds): Ping {
  if (status === 400 && EMPTY.test(word)) return { kind: 'alive', tookMs };
  const known = DEAD_WORDS.get(word);
  if (known !== undefined) return { kind: 'dead', detail: `Slack answered ${status} ${word}: ${known}` };
  if (status === 404 || status === 410) return { kind: 'dead', detail: `Slack answered ${status}` };
  if (status === 429) return { kind: 'unclear', detail: 'Slack asks for fewer messages (429)' };
  // A word of Slack's is short; a page may hold anything.
  const text = /^[a-z_]{3,40}$/.test(word) ? ` ${word}` : '';
  return { kind: 'unclear', detail: `the answer was ${status}${text}, not that of Slack to an empty message` };
}

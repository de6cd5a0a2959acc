/** Finds out whether a Slack webhook is alive without showing a message: Slack refuses an empty one, and says why. */
import { Agent, fetch } from 'undici';
import type { Milliseconds } from '../core/purchase.ts';
import { explain } from './network-failure.ts';

export type SlackPing =
  | { readonly kind: 'alive'; readonly tookMs: Milliseconds }
  | { readonly kind: 'dead' | 'unclear' | 'silent'; readonly detail: string };

const MOST_READ = 16 * 1024;
const EMPTY = /^(no_text|invalid_payload|invalid_blocks|missing_text_or_fallback_or_attachments)\b/;

const WORDS: Readonly<Record<string, string>> = {
  no_service: 'there is no such webhook any more',
  no_service_id: 'the address is not complete',
  no_active_hooks: 'the webhook was switched off',
  invalid_token: 'the address is not right: its last part is not accepted',
  no_team: 'there is no such workspace',
  team_disabled: 'the workspace was closed',
  channel_is_archived: 'its channel was archived',
  channel_not_found: 'its channel was deleted',
  action_prohibited: 'an administrator has restricted posting to its channel',
};

/** Posts an empty payload; no text holds the address, which is a secret. */
export async function pingSlack(url: string, timeout: Milliseconds): Promise<SlackPing> {
  const agent = new Agent({ maxResponseSize: MOST_READ, connect: { timeout } });
  const began = performance.now();
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
      dispatcher: agent,
    });
    const word = (await response.text()).trim();
    const tookMs = Math.round(performance.now() - began);
    if (response.status === 400 && EMPTY.test(word)) return { kind: 'alive', tookMs };
    const known = WORDS[word];
    if (known !== undefined) return { kind: 'dead', detail: `Slack answered ${response.status} ${word}: ${known}` };
    if (response.status === 404 || response.status === 410) return { kind: 'dead', detail: `Slack answered ${response.status}` };
    if (response.status === 429) return { kind: 'unclear', detail: 'Slack asks for fewer messages (429)' };
    // A word of Slack's is short; a page may hold anything.
    const said = /^[a-z_]{3,40}$/.test(word) ? ` ${word}` : '';
    return { kind: 'unclear', detail: `the answer was ${response.status}${said}, not that of Slack to an empty message` };
  } catch (error) {
    const timedOut = error instanceof Error && error.name === 'TimeoutError';
    return { kind: 'silent', detail: timedOut ? `there was no answer within ${timeout} ms` : explain(error).detail };
  } finally {
    await agent.destroy();
  }
}

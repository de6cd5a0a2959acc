/** The demo's stand-in for Slack's incoming webhooks. */
import type { SlackMessage } from '../../channels/slack/message.ts';
import type { ShownMessage } from '../../channels/slack/terminal.ts';
import type { Instant } from '../../domain/values/time.ts';
import { listenForPosts } from '../../receiver/posts.ts';
import { randomUUID } from '../../runtime/random.ts';
import { wall } from '../../runtime/time.ts';

/** A message as Slack got it. */
export interface SlackPost {
  readonly at: Instant;
  readonly text: string;
  readonly blocks: SlackMessage['blocks'] | null;
}

/** Messages that are kept for the page. */
const POSTS_KEPT = 50;

/** Starts the stand-in at a free port; calls `onMessage` with each message. */
export async function openSlack(onMessage: (message: ShownMessage) => void) {
  const secretPath = `/services/${randomUUID()}`;
  let messages = 0;
  const posts: SlackPost[] = [];
  const { origin, close } = await listenForPosts(({ path, body }) => {
    if (path !== secretPath) return { status: 404, body: 'no_service' };
    const message = JSON.parse(body.toString()) as Partial<ShownMessage>;
    // As Slack does: a message without text is not shown. `doctor` asks so whether the address lives.
    const { text, blocks = null } = message;
    if (text === undefined) return { status: 400, body: 'no_text' };
    messages += 1;
    posts.push({ at: wall(), text, blocks: blocks && [...blocks] });
    if (posts.length > POSTS_KEPT) posts.shift();
    onMessage({ text, blocks });
    return { status: 200, body: 'ok' };
  });
  // The address is drawn for this run, as Slack's own are: others that post here do not know it.
  return { url: origin + secretPath, messages: () => messages, posts: (): readonly SlackPost[] => posts, close };
}

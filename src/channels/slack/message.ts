/** Messages for Slack: the words of people's messages, laid out for Slack. */

import { PEOPLE_KINDS } from '../../config/kinds/people-kinds.ts';
import { eventDraft, type MessageOptions } from '../people/messages/message.ts';
import { type FoldOptions, foldedDraft } from '../people/messages/together.ts';
import { layOut, type SlackMessage } from './layout.ts';

export type { SlackMessage } from './layout.ts';

/** Lays out an event for Slack. Pure; never throws: an event of an unexpected shape is announced by its type. */
export function slackMessage(body: string, options: MessageOptions): SlackMessage {
  return layOut(eventDraft(body, options));
}

/** Lays out events, oldest first, as one message. Pure; never throws. */
export function slackFolded(bodies: readonly string[], options: Omit<FoldOptions, 'service'>): SlackMessage {
  return layOut(foldedDraft(bodies, { ...options, service: PEOPLE_KINDS.slack.title }));
}

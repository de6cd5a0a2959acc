/** An incoming webhook of Slack for tests: answers `ok` in Slack's way and refuses what Slack would refuse. */
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, type StandIn, startStandIn } from './stand-in.ts';

interface ReceivedMessage {
  readonly text: string;
  readonly blocks: readonly Block[] | undefined;
  /** Why Slack would refuse the message, or null. */
  readonly problem: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface Block {
  readonly type: string;
  readonly text?: { readonly type: string; readonly text: string };
  readonly fields?: readonly { readonly type: string; readonly text: string }[];
  readonly elements?: readonly { readonly type: string; readonly text: string }[];
}

export interface SlackStandIn extends StandIn<ReceivedMessage> {
  /** Like a real one, it has its secret in the path. */
  readonly url: string;
  /** Of every request so far. */
  headers(): readonly IncomingHttpHeaders[];
}

/** Answers of Slack's that a test may ask for. */
export const SLACK_ANSWERS = {
  rateLimited: { status: 429, headers: { 'retry-after': '7' }, body: 'rate_limited' },
  invalidBlocks: { status: 400, body: 'invalid_blocks' },
  noService: { status: 404, body: 'no_service' },
  archived: { status: 410, body: 'channel_is_archived' },
  prohibited: { status: 403, body: 'action_prohibited' },
  broken: { status: 500, body: 'rollup_error' },
} satisfies Record<string, Answer>;

function textProblem(text: Block['text'], longest: number, types: readonly string[]): string | null {
  if (text === undefined || !types.includes(text.type)) return `text must be ${types.join(' or ')}`;
  if (text.text.length === 0) return 'text is empty';
  if (text.text.length > longest) return `text is longer than ${longest}`;
  return markupProblem(text.text);
}

/** What was cut in the middle, or was never escaped. */
function markupProblem(text: string): string | null {
  if (!text.isWellFormed()) return 'text has half a character';
  if (/&(?!(?:amp|lt|gt);)/.test(text)) return 'text has a bare & or half an escape';
  return /[<>]/.test(text.replace(/<(https?:\/\/|!date\^|mailto:)[^<>]*>/g, ''))
    ? 'text has a bare < or >, or half a link'
    : null;
}

function listProblem(list: Block['fields'], most: number, longest: number): string | null {
  if (list === undefined || list.length === 0 || list.length > most) return `there must be 1 to ${most}`;
  return list.map((text) => textProblem(text, longest, ['mrkdwn', 'plain_text'])).find((problem) => problem !== null) ?? null;
}

function blockProblem(block: Block): string | null {
  switch (block.type) {
    case 'header':
      return textProblem(block.text, 150, ['plain_text']);
    case 'section':
      if (block.fields !== undefined) return listProblem(block.fields, 10, 2_000);
      return textProblem(block.text, 3_000, ['mrkdwn', 'plain_text']);
    case 'context':
      return listProblem(block.elements, 10, 3_000);
    case 'divider':
      return null;
    default:
      return `unknown block ${block.type}`;
  }
}

/** Why Slack would refuse a message, or null: its limits on blocks and text. */
export function messageProblem({ text, blocks }: { text: string; blocks?: readonly Block[] | undefined }): string | null {
  if (text === '' && blocks === undefined) return 'no_text';
  if (text.length > 4_000) return 'text is longer than 4000';
  const problem = markupProblem(text);
  if (problem !== null) return problem;
  if (blocks === undefined) return null;
  if (blocks.length > 50) return 'more than 50 blocks';
  return blocks.map(blockProblem).find((problem) => problem !== null) ?? null;
}

/** Starts a stand-in that answers `ok` to good messages and `invalid_blocks` to others, by default. */
export async function startSlackStandIn(): Promise<SlackStandIn> {
  const seen: IncomingHttpHeaders[] = [];
  const standIn = await startStandIn<ReceivedMessage>(({ body, headers, at }) => {
    seen.push(headers);
    const { text = '', blocks } = JSON.parse(body) as { text?: string; blocks?: Block[] };
    const problem = messageProblem({ text, blocks });
    return { kept: { text, blocks, problem, at }, answer: problem === null ? undefined : SLACK_ANSWERS.invalidBlocks };
  });
  return { ...standIn, url: `${standIn.origin}/services/T0000/B0000/a-secret-path`, headers: () => seen };
}

/** A workflow of Microsoft Teams for tests: answers 202 as a workflow does, and says what Teams would refuse afterwards. */
import { type StandIn, startStandIn } from './stand-in.ts';

export interface ReceivedCard {
  readonly summary: string;
  /** Every text of the card, in the order in which it is shown. */
  readonly texts: readonly string[];
  /** Why Teams would show nothing, or null. */
  readonly problem: string | null;
}

export interface TeamsStandIn extends StandIn<ReceivedCard> {
  /** Like a real one, it has its secret in the query. */
  readonly url: string;
}

interface Element {
  readonly type: string;
  readonly text?: string;
  readonly facts?: readonly { readonly title: string; readonly value: string }[];
}

/** Teams counts the card as a text in JSON. */
const MOST_BYTES = 28 * 1024;

export async function startTeamsStandIn(): Promise<TeamsStandIn> {
  const standIn = await startStandIn<ReceivedCard>(({ body, headers }) => {
    const message = JSON.parse(body);
    const [attachment] = message.attachments;
    const elements = attachment.content.body as Element[];
    const isCard =
      headers['content-type'] === 'application/json' &&
      message.type === 'message' &&
      attachment.contentType === 'application/vnd.microsoft.card.adaptive' &&
      attachment.content.type === 'AdaptiveCard' &&
      elements.every(({ type, text, facts }) => (type === 'FactSet' ? facts!.length > 0 : type === 'TextBlock' && text !== ''));
    const isShort = Buffer.byteLength(JSON.stringify(body)) <= MOST_BYTES;
    const texts = elements.flatMap(({ text, facts = [] }) =>
      text === undefined ? facts.map(({ title, value }) => `${title}: ${value}`) : [text],
    );
    const problem = isCard ? (isShort ? null : 'MessageSizeExceeded') : 'not a card';
    return { kept: { summary: message.summary, texts, problem }, answer: { status: 202, body: '' } };
  });
  return { ...standIn, url: `${standIn.origin}/workflows/0123456789abcdef/triggers/manual/paths/invoke?sig=a-secret-signature` };
}

/** A reader of server-sent events that takes them as they come off the wire. */
import { fetchAsMachine } from '../support/machine.ts';

export interface StreamedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface EventStream {
  readonly status: number;
  readonly headers: Headers;
  /** Everything that came, as text. */
  text(): string;
  /** The last `id` that came, with an event or without one. */
  lastId(): string;
  events(): readonly StreamedEvent[];
  /** Resolves when what came fulfils the condition. */
  until(condition: (stream: EventStream) => boolean): Promise<void>;
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
  /** Hangs up. */
  close(): void;
}

/** Opens a stream; what comes is kept. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
  const hangUp = new AbortController();
  const response = await fetchAsMachine(url, { headers, signal: hangUp.signal });
  let text = '';
  let parsed = 0;
  let lastId = '';
  const events: StreamedEvent[] = [];
  let look = (): void => undefined;
  /** Takes the blocks that are complete. */
  const parse = (): void => {
    for (let end = text.indexOf('\n\n', parsed); end >= 0; end = text.indexOf('\n\n', parsed)) {
      const lines = text.slice(parsed, end).split('\n');
      const block = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      parsed = end + 2;
      lastId = block.get('id') ?? lastId;
      const data = block.get('data');
      if (data !== undefined) events.push({ id: lastId, event: block.get('event')!, data });
    }
  };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      parse();
      look();
    }
  };
  const stream: EventStream = {
    status: response.status,
    headers: response.headers,
    text: () => text,
    lastId: () => lastId,
    events: () => events,
    until: (condition) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`it never came; this did:\n${text}`)), 20_000);
        look = () => {
          if (!condition(stream)) return;
          clearTimeout(timer);
          resolve();
        };
        look();
      }),
    ended: read().catch((error: unknown) => {
      if (!hangUp.signal.aborted) throw error;
    }),
    close: () => hangUp.abort(),
  };
  return stream;
}

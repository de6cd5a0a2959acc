/**
 * A collector of traces: takes OTLP over HTTP in protobuf. It reads the wire format by the numbers of the published
 * opentelemetry-proto, and shares no code with what writes it.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type StandIn, startStandIn } from './stand-in.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

interface Export {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly resource: Readonly<Record<string, string | number>>;
  readonly spans: readonly CollectedSpan[];
}

/** Starts a collector that takes everything by default. */
export function startCollector(): Promise<StandIn<Export>> {
  return startStandIn<Export>(({ path, headers, bytes }) => {
    const groups = messages(bytes, 1);
    const resource = attributesOf(messages(groups[0]!, 1)[0]!, 1);
    const spans = groups.flatMap((group) => messages(group, 2)).flatMap((scope) => messages(scope, 2));
    return { kept: { path, headers, bytes, resource, spans: spans.map(spanOf) }, answer: { body: '' } };
  });
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;

function spanOf(span: Buffer): CollectedSpan {
  const hex = (message: Buffer, field: number): string => messages(message, field)[0]?.toString('hex') ?? '';
  const status = messages(span, 15)[0];
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4),
    name: messages(span, 5)[0]!.toString(),
    kind: KINDS[Number(numbers(span, 6)[0] ?? 0)]!,
    start: numbers(span, 7)[0]!,
    end: numbers(span, 8)[0]!,
    attributes: attributesOf(span, 9),
    links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    isError: status !== undefined && numbers(status, 3)[0] === 2n,
  };
}

function attributesOf(message: Buffer, field: number): Record<string, string | number> {
  const pairs = messages(message, field).map((pair): [string, string | number] => {
    const value = messages(pair, 2)[0]!;
    return [messages(pair, 1)[0]!.toString(), messages(value, 1)[0]?.toString() ?? Number(numbers(value, 3)[0])];
  });
  return Object.fromEntries(pairs);
}

const messages = (message: Buffer, field: number): Buffer[] =>
  fieldsOf(message).flatMap(({ number, value }) => (number === field && typeof value === 'object' ? [value] : []));
const numbers = (message: Buffer, field: number): bigint[] =>
  fieldsOf(message).flatMap(({ number, value }) => (number === field && typeof value === 'bigint' ? [value] : []));

/** The fields of a message, in the order in which they were written. */
function fieldsOf(message: Buffer): { readonly number: number; readonly value: bigint | Buffer }[] {
  const fields: { number: number; value: bigint | Buffer }[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = Number(varint());
    const read = {
      0: varint,
      1: () => bytes(8).readBigUInt64LE(),
      2: () => bytes(Number(varint())),
      5: () => BigInt(bytes(4).readUInt32LE()),
    };
    fields.push({ number: key >> 3, value: read[(key & 7) as keyof typeof read]() });
  }
  return fields;
}

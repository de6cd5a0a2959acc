/** The spans of a daemon: of each poll with its requests, decision and record, and of each attempt to deliver. */

import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { namedState } from '../../domain/purchases/states.ts';
import type { RequestSpan, RequestTrace, TracedPoll, Traces } from './traces.ts';

/** Events whose poll is remembered, so that attempts to deliver them join its trace: the newest ones. */
const MOST_CAUSES = 10_000;

/** A poll under way. Its requests' spans end once it is known that the trace is worth its export: a span that never ends is never exported. */
interface PollTrace {
  readonly span: Span;
  readonly context: Context;
  readonly ends: (() => void)[];
  decidedAt: number;
}

export function createSpans(tracer: Tracer): Omit<Traces, 'close'> {
  const polls = new WeakMap<TracedPoll, PollTrace>();
  const causes = createCauses();

  const finish = (poll: TracedPoll, { span, ends }: PollTrace): void => {
    polls.delete(poll);
    for (const end of ends) end();
    span.end();
  };

  return {
    beginPoll: (poll) => {
      const { site, purchaseId } = poll.purchase;
      const attributes = { 'purchase_watch.site': site, 'purchase_watch.purchase_id': purchaseId };
      const span = tracer.startSpan('poll', { attributes }, ROOT_CONTEXT);
      const context = trace.setSpan(ROOT_CONTEXT, span);
      const ends: (() => void)[] = [];
      polls.set(poll, { span, context, ends, decidedAt: 0 });
      return requestsUnder(tracer, span, context, (end) => ends.push(end));
    },
    decided: (poll, { kind, reason, transition }, began) => {
      const traced = polls.get(poll);
      if (traced === undefined) return;
      if (kind === 'unchanged') {
        polls.delete(poll);
        return;
      }
      const { span, context } = traced;
      tracer.startSpan('decide', { startTime: began }, context).end();
      traced.decidedAt = performance.now();
      span.setAttributes({ 'purchase_watch.outcome': kind, 'purchase_watch.reason': reason });
      if (transition !== null) {
        span.setAttribute('purchase_watch.state.to', namedState(transition.to).name);
        if (transition.from !== null) span.setAttribute('purchase_watch.state.from', namedState(transition.from).name);
      }
      if (kind !== 'changed') fail(span, reason);
      if (kind === 'postponed') finish(poll, traced);
    },
    recorded: (written, began, record) => {
      const statement: Attributes = {
        'db.system.name': 'postgresql',
        'db.operation.name': 'UPDATE',
        'db.collection.name': 'purchases',
        ...(written.length > 1 && { 'db.operation.batch.size': written.length }),
      };
      const byPurchase = new Map<number, SpanContext>();
      for (const poll of written) {
        const traced = polls.get(poll);
        if (traced === undefined) continue;
        const { span, context, decidedAt } = traced;
        const recording = tracer.startSpan('record', { startTime: decidedAt }, context);
        const options = { kind: SpanKind.CLIENT, startTime: began, attributes: statement };
        const update = tracer.startSpan('UPDATE purchases', options, trace.setSpan(context, recording));
        if (record === null) fail(update, 'not_recorded');
        else if (!record.ids.has(poll.purchase.id)) fail(recording, 'refused');
        update.end();
        recording.end();
        byPurchase.set(poll.purchase.id, span.spanContext());
        finish(poll, traced);
      }
      if (byPurchase.size === 0) return;
      for (const { lane, event } of record?.deliveries.rows ?? []) causes.add(event.id, byPurchase.get(lane));
    },
    beginAttempt: ({ event, subscriber, attempt }) => {
      const cause = causes.get(event.id);
      // A first attempt follows the poll within moments; later ones may come after days, when its trace is closed for most backends.
      const parent = cause !== undefined && attempt === 1 ? trace.setSpanContext(ROOT_CONTEXT, cause) : ROOT_CONTEXT;
      const links = cause !== undefined && attempt > 1 ? [{ context: cause }] : [];
      const attributes = {
        'purchase_watch.subscriber': subscriber,
        'purchase_watch.attempt': attempt,
        'purchase_watch.event_id': event.id,
        'purchase_watch.event_type': event.type,
      };
      const span = tracer.startSpan('deliver', { kind: SpanKind.PRODUCER, attributes, links }, parent);
      return {
        ...requestsUnder(tracer, span, trace.setSpan(ROOT_CONTEXT, span), (end) => end()),
        end: (failed) => {
          if (failed !== null) fail(span, failed);
          span.end();
        },
      };
    },
  };
}

/** The polls that caused the newest events. */
function createCauses() {
  const causes = new Map<string, SpanContext>();
  return {
    get: (event: string) => causes.get(event),
    add: (event: string, cause: SpanContext | undefined): void => {
      if (cause === undefined) return;
      causes.set(event, cause);
      if (causes.size <= MOST_CAUSES) return;
      for (const oldest of causes.keys()) {
        causes.delete(oldest);
        return;
      }
    },
  };
}

/** Requests that a span makes, by the semantic conventions of HTTP. `ended` gets what ends the span of a request. */
function requestsUnder(tracer: Tracer, span: Span, context: Context, ended: (end: () => void) => void): RequestTrace {
  return {
    traceparent: traceparentOf(span),
    request: ({ method, address, path }): RequestSpan => {
      const { protocol, hostname, port } = new URL(address);
      const attributes = {
        'http.request.method': method,
        'server.address': hostname,
        'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
        'url.full': address + (path ?? ''),
      };
      const name = path === undefined ? method : `${method} ${path}`;
      const request = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, context);
      return {
        traceparent: traceparentOf(request),
        end: (status, failed) => {
          if (status !== null) request.setAttribute('http.response.status_code', status);
          const error = failed ?? (status !== null && status >= 400 ? String(status) : null);
          if (error !== null) fail(request, error);
          const at = performance.now();
          ended(() => request.end(at));
        },
      };
    },
  };
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** By the W3C's recommendation "Trace Context". */
function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** How soon something is answered over HTTP, asked one question after the other. */
import { type Dispatcher, request } from 'undici';
import { percentile } from './measure.ts';
import type { Row } from './report.ts';

interface Question {
  readonly what: string;
  /** The address for each time it is asked. */
  url(): string;
  readonly times: number;
  /** Milliseconds that 99 of 100 may take. */
  readonly atMost: number;
  /** The status of a good answer; 200 unless given. */
  readonly status?: number;
  /** What shows that the caller may ask. */
  readonly headers: Readonly<Record<string, string>>;
  say(line: string): void;
}

/** Asked before, and not counted: the first answers warm up connections, plans and pages. */
export const WARMING = 30;

/** Asks, and answers the median and the slowest of a hundred. Throws on any other status. */
export async function timesOf(
  dispatcher: Dispatcher,
  { what, url, times, atMost, status = 200, headers, say }: Question,
): Promise<Row[]> {
  const took: number[] = [];
  for (let asked = 0; asked < times + WARMING; asked++) {
    const begun = performance.now();
    const { statusCode, body } = await request(url(), { dispatcher, headers });
    const text = await body.text();
    if (statusCode !== status) throw new Error(`${what}: HTTP ${statusCode}: ${text.slice(0, 500)}`);
    if (asked >= WARMING) took.push(performance.now() - begun);
  }
  say(`${what}: p50 ${percentile(took, 0.5).toFixed(1)} ms`);
  return [
    { what: `${what}, p50`, value: percentile(took, 0.5), unit: 'ms' },
    { what: `${what}, p99`, value: percentile(took, 0.99), unit: 'ms', atMost },
  ];
}

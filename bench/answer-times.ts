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
  say(line: string): void;
}

/** Not counted: the first answers warm up connections, plans and pages. */
const WARMING = 30;

/** Asks, and answers the median and the slowest of a hundred. Throws on any status but 200. */
export async function timesOf(dispatcher: Dispatcher, { what, url, times, atMost, say }: Question): Promise<Row[]> {
  const took: number[] = [];
  for (let asked = 0; asked < times + WARMING; asked++) {
    const begun = performance.now();
    const { statusCode, body } = await request(url(), { dispatcher });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${what}: HTTP ${statusCode}: ${text}`);
    if (asked >= WARMING) took.push(performance.now() - begun);
  }
  say(`${what}: p50 ${percentile(took, 0.5).toFixed(1)} ms`);
  return [
    { what: `${what}, p50`, value: percentile(took, 0.5), unit: 'ms' },
    { what: `${what}, p99`, value: percentile(took, 0.99), unit: 'ms', atMost },
  ];
}

/** `events`: the latest events, and those that come. */

import type { Sql } from '../../actions/database.ts';
import {
  comingEvents,
  FEED_START,
  type FedEvent,
  type FeedPlace,
  placeOfEvent,
  readEvents,
} from '../../actions/events/follow-feed.ts';
import { EVENT_TYPES, type EventType } from '../../domain/events/system-event-types.ts';
import { AppError } from '../../domain/values/errors.ts';
import { parseExact } from '../../domain/values/exact-json.ts';
import { isoTime, type Milliseconds } from '../../domain/values/time.ts';
import type { ArrivedEvent } from '../../receiver/genuine.ts';
import { untilStopSignal } from '../../runtime/process/signals.ts';
import { eventLines } from '../purchases/show-event.ts';
import { typesOption } from '../subscribers/subscriber-options.ts';
import { limitOption } from '../terminal/arguments.ts';
import { declare } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { missingDaemon, withDatabase } from '../terminal/database.ts';
import { harmlessJson, printLine, printRemark } from '../terminal/output.ts';

/** The length of one wait for new events; another begins at once. */
const WITHIN: Milliseconds = 60_000;
/** Bytes of bodies in one read. */
const MOST_BYTES = 4_000_000;

export const register = declare(
  {
    description:
      'The latest events, the oldest of them first, as subscribers get them; with --follow also those that come, until Ctrl-C. Reads the database, and needs no subscriber and no API.',
    options: [
      ['--types <list>', 'only these types of events, separated by commas'],
      ['--after <event>', 'those that came after this event, in place of the latest'],
      limitOption(),
      ['-f, --follow', 'go on with events that come'],
      ['--json', 'write the bodies byte for byte, one on each line'],
    ],
    examples: [
      ['events', 'what happened last'],
      ['events --follow --types purchase.stuck,site.unreachable', 'watch for trouble'],
      ['events --json --limit 1000 | jq -r .data.purchaseId', 'for programs'],
    ],
  },
  async (context, { types: wanted, after, limit, follow, json }) => {
    const types = (typesOption(wanted) ?? EVENT_TYPES) as readonly EventType[];
    const ending = new AbortController();
    void untilStopSignal(context.takeSignals).then(() => ending.abort());
    const print = json ? (event: FedEvent) => printLine(context, harmlessJson(context, event.body)) : linesOf(context);
    await withDatabase(context, async ({ sql, url }) => {
      const from = after === undefined ? null : await placeOf(sql, after);
      const found = await readEvents(sql, { types, limit, after: from, bytes: MOST_BYTES });
      for (const event of found) print(event);
      if (!follow) {
        if (found.length === 0 && !json) printLine(context, after === undefined ? 'No events yet.' : `No events after ${after}.`);
        return;
      }
      const missing = await missingDaemon(sql);
      if (missing !== null) printRemark(context, missing);
      const wanted = { types, limit, bytes: MOST_BYTES, within: WITHIN, signal: ending.signal };
      const last = found.at(-1)?.place ?? from ?? FEED_START;
      for await (const event of comingEvents(sql, url, { ...wanted, after: last })) print(event);
    });
  },
);

async function placeOf(sql: Sql, id: string): Promise<FeedPlace> {
  const place = await placeOfEvent(sql, id, EVENT_TYPES);
  if (place !== null) return place;
  throw new AppError(
    'not_found',
    `--after: there is no event ${JSON.stringify(id)}, or it is older than what is kept; see ids with "purchase-watch events --json"`,
  );
}

/** One line for each event, as `listen` shows them, with the day. */
function linesOf(context: CliContext): (event: FedEvent) => void {
  const line = eventLines(context, (at) => isoTime(at).replace('T', ' ').slice(0, 19));
  return ({ type, body: text }) => {
    const body = parseExact(text);
    const { id, timestamp, data } = body as unknown as Pick<ArrivedEvent, 'id' | 'timestamp' | 'data'>;
    const event: ArrivedEvent = { id, type, timestamp, data, text, body };
    const place = { time: 1, wasTaken: false, order: 'follows', before: null } as const;
    printLine(context, line({ event, place, at: Date.parse(timestamp ?? ''), status: 200, why: null, failed: false }));
  };
}

/** Output of `listen`: events on standard output, all other lines on standard error, so that a pipe gets events only. */

import { Writable } from 'node:stream';
import { refusedUrl } from '../../channels/http/address.ts';
import { shellWord } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { isoTime } from '../../domain/values/time.ts';
import type { Taken } from '../../receiver/receiver.ts';
import { monotonic, wall } from '../../runtime/time.ts';
import { eventLines } from '../purchases/show-event.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, harmlessJson, printable, printLine, styled, toStandardError } from '../terminal/output.ts';

export type ListenScreen = ReturnType<typeof createScreen>;

/** A refused request is shown in a line; it may hold anything. */
const LONGEST_REFUSAL = 300;

/** Begins to count. With `json` a body is one line, and nothing else; with `full` it stands below each line. */
export function createScreen(
  outside: CliContext,
  { json = false, full = false, forward }: { json?: boolean; full?: boolean; forward?: string },
) {
  const context = { ...outside };
  const beside = { ...toStandardError(outside) };
  const say = (text = ''): void => printLine(beside, text);
  const lineOf = eventLines(context);
  const began = monotonic();
  let [events, repeats, tries, refusals] = [0, 0, 0, 0];
  return {
    event: (taken: Taken): void => {
      const { text, body } = taken.event;
      if (taken.place.time === 1) events += 1;
      else if (taken.place.wasTaken) repeats += 1;
      else tries += 1;
      // Our bodies are one line; another sender's, signed with the same secret, may not be.
      const line = json ? harmlessJson(context, /[\r\n]/.test(text) ? JSON.stringify(body) : text) : lineOf(taken);
      printLine(context, line);
      if (!full) return;
      for (const line of JSON.stringify(body, null, 2).split('\n')) printLine(context, `    ${printable(line)}`);
    },
    /** A request that was not taken, and why. */
    refused: (detail: string): void => {
      refusals += 1;
      say(`${isoTime(wall()).slice(11)}  ${styled(beside, 'red', 'refused')}  ${printable(detail).slice(0, LONGEST_REFUSAL)}`);
    },
    /** Writes a line beside the events. */
    say,
    /** Writes the address, and the settings with which a daemon sends here; `made` is a secret that no sender knows yet. */
    introduce: ({ url, made }: { readonly url: string; readonly made: string | null }): void => {
      const passing = forward === undefined ? '' : `, and passing on to ${forward}`;
      const allowing = refusedUrl(url, [])?.allowing;
      const lines = [
        `Listening at ${url} and below${passing}. Ctrl-C ends it.`,
        '',
        `A daemon sends here when it is started with${made === null ? ' this, and with the secret that is known here' : ''}:`,
        `  export WEBHOOK_URL=${shellWord(url)}`,
        made === null ? null : `  export WEBHOOK_SECRET=${shellWord(made)}`,
        allowing === undefined ? null : `  export ${allowing}`,
        made === null ? null : 'The secret was made for this run; with WEBHOOK_SECRET set here, too, it stays the same.',
        '',
      ];
      say(lines.filter((line) => line !== null).join('\n'));
    },
    /** Shows nothing any more: the terminal is gone. */
    mute: (): void => {
      const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
      context.stdout = nowhere;
      beside.stdout = nowhere;
    },
    /** Says at the end what came. */
    sum: (): void => {
      const came = [
        counted(events, 'event'),
        ...(tries === 0 ? [] : [counted(tries, 'further try', 'further tries')]),
        ...(repeats === 0 ? [] : [counted(repeats, 'repeat')]),
      ];
      const all = came.length === 1 ? came[0]! : `${came.slice(0, -1).join(', ')} and ${came.at(-1)}`;
      const not = refusals === 0 ? '' : `; ${counted(refusals, 'request was', 'requests were')} refused`;
      say(`${all} in ${humanDuration(monotonic() - began)}${not}`);
    },
  };
}

/** Rehearsals: which alerts would have been sent in a past time under other settings. Nothing is written or sent. */

import type { Context } from 'hono';
import { databaseNow } from '../../actions/database.ts';
import { rehearseSettings } from '../../actions/rehearse/settings.ts';
import { readSpan } from '../../actions/rehearse/span.ts';
import { type AlertSettings, limitableStates, shownAlertSettings, type TriedSettings, tried } from '../../config/rehearsed.ts';
import type { StateName } from '../../domain/purchases/states.ts';
import { grouped } from '../../domain/values/counts.ts';
import { formatDuration } from '../../domain/values/duration.ts';
import { DAY, type Milliseconds } from '../../domain/values/time.ts';
import { createTurns } from '../../runtime/loops/turns.ts';
import { delay, monotonic } from '../../runtime/time.ts';
import { inOneSentence } from '../http/invalid.ts';
import { busy, type FieldError, Problem } from '../http/problems.ts';
import { type Api, type ApiDeps, goneSignal, jsonAnswer, needs, route } from '../http/route.ts';
import { alertSettingsSchema, askedSchema, rehearsalSchema } from './rehearsal-fields.ts';

/** Bounds of one rehearsal at the daemon. The command `rehearse` is a process of its own, and has no such bounds. */
const LONGEST: Milliseconds = 31 * DAY;
const MOST_STAYS = 200_000;
/** While the process goes through a batch it does nothing else; the rest after a batch is as long as the batch. */
const BATCH = 500;
const STATEMENT_WITHIN: Milliseconds = 10_000;
/** Messages that are listed of each side. */
const MOST_LISTED = 1_000;
/** One at a time; others wait, but not many and not for long. */
const WAITING = 4;
const WAIT_WITHIN: Milliseconds = 20_000;
/** The database ended a statement that took too long. */
const CANCELLED = '57014';

export function mountRehearsals(app: Api, { sql, settings }: ApiDeps): void {
  const refuse = () => busy('Other rehearsals are under way, and one is made at a time. Try again in a few seconds.');
  const turns = createTurns({ most: 1, waiting: WAITING, within: WAIT_WITHIN, refuse });
  const shown = shownAlertSettings(settings);
  app.openapi(settingsRoute, (c) => c.json(shown, 200));
  app.openapi(rehearseRoute(settings.sites.map(({ name }) => name)), async (c) => {
    const { from, to, site = null, ignoreSilences = false, settings: settingsToTry = {} } = c.req.valid('json');
    const read = readSpan({ from, to }, { now: await databaseNow(sql), longest: LONGEST });
    const wrong = [...spanErrors(read, { from, to }), ...settingErrors(settingsToTry, settings)];
    if ('problems' in read || wrong.length > 0)
      throw new Problem('invalid_request', `${inOneSentence(wrong)}.`, { errors: wrong });
    const giveBack = await turns.take();
    try {
      const rules = { present: settings, tried: tried(settings, settingsToTry) };
      const bounds = { most: MOST_LISTED, bounds: { batch: BATCH, within: STATEMENT_WITHIN }, onProgress: paced(c) };
      const wanted = { ...read, site, ignoreSilences, config: null, ...bounds };
      const rehearsal = await rehearseSettings(sql, rules, wanted).catch(refuseLate);
      return c.json(rehearsal, 200);
    } finally {
      giveBack();
    }
  });
}

function refuseLate(error: unknown): never {
  if ((error as { code?: unknown }).code !== CANCELLED) throw error;
  throw tooLarge(`The database did not read the changes of state within ${STATEMENT_WITHIN / 1_000} s.`);
}

/** Leaves the process to others after each batch; ends the rehearsal when it grows too large, or when the caller has gone. */
function paced(c: Context): (stays: number) => Promise<void> {
  const gone = goneSignal(c);
  let since = monotonic();
  return async (stays) => {
    if (stays > MOST_STAYS) throw tooLarge(`More than ${grouped(MOST_STAYS)} stays would have to be gone through.`);
    await delay(Math.max(monotonic() - since, 1), undefined, { signal: gone }).catch(() => {
      throw busy('The rehearsal was ended, because the caller has gone or the daemon stops.');
    });
    since = monotonic();
  };
}

function tooLarge(what: string): Problem {
  const detail = `${what} Choose a shorter time or one site, or use the command "purchase-watch rehearse", which may take as long as it needs.`;
  return new Problem('too_large', detail);
}

function spanErrors(
  read: ReturnType<typeof readSpan>,
  given: { readonly from: string; readonly to: string | undefined },
): FieldError[] {
  if (!('problems' in read)) return [];
  return read.problems.map(({ field, problem }) => ({ field, value: given[field]?.slice(0, 80) ?? null, detail: problem }));
}

/** A limit means nothing in a state that is final at this daemon, and the end of a session not before its beginning. */
function settingErrors({ states = {}, polling }: TriedSettings, settings: AlertSettings): FieldError[] {
  const { sessionLength } = settings.policy;
  const isTooLong = (polling?.atRisk?.before ?? 0) >= sessionLength;
  const detail = `must be shorter than a session (polling.sessionLength: ${formatDuration(sessionLength)})`;
  const known = limitableStates(settings);
  const named = Object.keys(states) as StateName[];
  const unlimited = named
    .filter((name) => states[name]?.stuckAfter !== undefined && !known.includes(name))
    .map((name) => ({ field: `settings.states.${name}.stuckAfter`, detail: 'has no meaning in a final state; leave it out' }));
  return isTooLong ? [...unlimited, { field: 'settings.polling.atRisk.before', detail }] : unlimited;
}

const settingsRoute = route('GET /v1/rehearsals/settings', {
  summary: 'The settings that a rehearsal can change',
  description: 'With the values that they have at the daemon.',
  answers: { 200: jsonAnswer('As the daemon was started.', alertSettingsSchema) },
  needsDatabase: false,
});

const rehearseRoute = (sites: readonly string[]) =>
  route('POST /v1/rehearsals', {
    security: needs('read'),
    summary: 'Rehearse settings on a past time',
    description:
      'Goes through the recorded changes of state of a past time again, of at most 31 days, under the settings of the daemon with those to try in their place, and answers which alerts would have been sent, beside those under the present settings and those that were really sent. The 14 days before teach what is usual. Nothing is written or sent. One rehearsal is made at a time, and at a pace that leaves the daemon to its work: what is too large for that is refused with `too_large`, and left to the command `purchase-watch rehearse`.',
    body: askedSchema(sites),
    answers: { 200: jsonAnswer('What would have been.', rehearsalSchema) },
    problems: ['unknown_site'],
  });

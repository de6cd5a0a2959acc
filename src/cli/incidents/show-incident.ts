/** Shows one incident: the trouble, the numbers behind it, the likely causes, the alerts, and the owner. */

import { readClock } from '../../actions/database.ts';
import { learnedLimits } from '../../actions/flow/stay-limits.ts';
import { incidentDetails } from '../../actions/incidents/body.ts';
import { type IncidentRow, type IncidentStory, storyOf } from '../../actions/incidents/incidents.ts';
import { comingEnd, lengthOf, placeOf, whatOf } from '../../actions/incidents/words.ts';
import { listSubscribers } from '../../actions/subscribers/subscribers.ts';
import { NO_CHANNEL, untilText } from '../../domain/explain/standing.ts';
import { CAUSES, isCauseKey } from '../../domain/incidents/causes.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { markWords, sliceWords } from '../../domain/incidents/slice.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { workingText } from '../../domain/stays/dwell.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import { type Instant, isoTime } from '../../domain/values/time.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { onDatabase } from '../terminal/database.ts';
import { counted, printable, printFacts, printJson, printLine, printText, styled } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';
import { INCIDENT_ID } from './care-options.ts';

export const show = onDatabase(
  {
    summary: 'show one: what it rests on, likely causes, who was alerted of what, who looks after it',
    arguments: [INCIDENT_ID],
    options: [JSON_OPTION],
    restsOn: ['polling', 'alerts'],
  },
  async (context, { id, json }, { sql, settings }) => {
    const story = await storyOf(sql, id);
    if (json) return printJson(context, incidentDetails(story, settings.slack));
    const [{ now }, limits, channels] = await Promise.all([
      readClock(sql),
      learnedLimits(sql, settings.policy),
      // Of the database: the daemon may have a channel that is not in the settings of this terminal.
      listSubscribers(sql),
    ]);
    const { incident } = story;
    const { kind, site, state } = incident;
    const isLeaf = kind === 'stuck' && site !== null && state !== null;
    printHead(context, story, { now, limit: isLeaf ? workingText(limits.limitOf(site, state), null) : null });
    printParts(context, incident, now);
    printAdvice(context, story);
    printCauses(context, story, settings.consoleUrl);
    printWaiting(context, story, now);
    printMessages(context, story, { now, hasChannel: channels.some(({ audience }) => audience === 'people') });
    printHint(context, incident);
  },
);

function printHead(
  context: CliContext,
  { incident, lastAlert }: IncidentStory,
  { now, limit }: { now: Instant; limit: string | null },
): void {
  const { id, since, peak, count, openedAt, endedAt, reopenedAt, quietSince, parent, silencedUntil, kind, state } = incident;
  const { acknowledgedAt, acknowledgedBy, acknowledgedNote, alarm, answer } = incident;
  const status =
    endedAt === null
      ? `open for ${lengthOf(incident, now)}`
      : `over since ${when(endedAt, now)}, after ${lengthOf(incident, now)}`;
  const end = comingEnd(incident, now);
  const quiet =
    (endedAt !== null || quietSince === null ? '' : `, quiet since ${when(quietSince, now)}`) + (end === null ? '' : `, ${end}`);
  const level = levelOf(incident);
  printFacts(context, [
    ['incident', id],
    ['where', placeOf(incident)],
    endedAt === null && end === null ? ['what', whatOf(incident), 'red'] : ['what', whatOf(incident)],
    ['state', state === null ? null : stateBoth(state)],
    ['status', `${status}${quiet}, ${level}`],
    ['at worst', kind === 'stuck' && endedAt === null && peak > count ? counted(peak, 'customer') : null],
    ['opened', when(openedAt, now)],
    ['since', when(since, now)],
    ['narrowed to', sliceText(lastAlert)],
    ['marked', markText(lastAlert)],
    ['reopened', reopenedAt === null ? null : when(reopenedAt, now)],
    ['rests on', alarm === null ? null : alarmText(alarm)],
    ['working', limit],
    ['part of', parent],
    [
      'owner',
      acknowledgedAt === null
        ? null
        : `${acknowledgedBy ?? 'somebody'}, ${when(acknowledgedAt, now)}${noteText(acknowledgedNote)}`,
    ],
    ['silenced', silencedUntil === null ? null : `until ${untilText(silencedUntil, now)}`],
    [
      'it was',
      answer === null
        ? null
        : `${answer.cause} (${titleOf(answer.cause)}), says ${answer.by}, ${when(answer.at, now)}${noteText(answer.note)}`,
    ],
  ]);
}

/** The slice that people were alerted of last, with who got stuck in it and elsewhere. */
function sliceText(alert: IncidentStory['lastAlert']): string | null {
  if (alert?.data.kind !== 'stuck' || alert.data.slice === null) return null;
  const { slice } = alert.data;
  const { inside, elsewhere, since } = slice;
  const stuck = `${inside.stuck} of ${counted(inside.came, 'customer')} got stuck, elsewhere ${elsewhere.stuck} of ${elsewhere.came}`;
  return `${sliceWords(slice)}, since ${isoTime(since).slice(0, 19)}Z: ${stuck}`;
}

/** The mark near the beginning, and how long it was before that. */
function markText(alert: IncidentStory['lastAlert']): string | null {
  if (alert?.data.kind !== 'stuck' || alert.data.mark === null) return null;
  const { mark, slice, alarm, since } = alert.data;
  return `${isoTime(mark.at).slice(0, 19)}Z; it began ${markWords(mark, slice?.since ?? alarm?.since ?? since)}`;
}

const when = (at: Instant, now: Instant): string => `${isoTime(at).slice(0, 19)}Z (${relative(at, now)})`;
const noteText = (note: string | null): string => (note === null ? '' : `: ${note}`);
const titleOf = (cause: string): string => (isCauseKey(cause) ? CAUSES[cause].title : 'a cause that is not known here');

/** The numbers that an alarm was raised for. */
function alarmText({
  rule,
  at,
  since,
  entrants,
  overdue,
  usualShare,
  perDay,
  falseAlarmEvery,
}: NonNullable<IncidentRow['alarm']>): string {
  const noticed = `noticed ${humanDuration(Math.max(at - since, 0))} after the first of them came`;
  if (rule === 'sparse') {
    const few = perDay === null ? '' : ` (about ${Math.round(perDay * 10) / 10} a day)`;
    return `${counted(overdue, 'customer')} in a row did not get on, where few come${few}; ${noticed}`;
  }
  const usual = `usually ${Math.round(usualShare * 1_000) / 10} in 100`;
  const rare = falseAlarmEvery === null ? '' : `; a false alarm comes once in about ${counted(falseAlarmEvery, 'customer')}`;
  return `${overdue} of ${counted(entrants, 'customer')} got stuck, ${usual}; ${noticed}${rare}`;
}

function printParts(context: CliContext, { parts }: IncidentRow, now: Instant): void {
  if (parts.length === 0) return;
  printLine(context);
  printTable(context, parts, {
    part: ({ id }) => id,
    site: ({ site }) => site ?? 'several',
    state: ({ state }) => (state === null ? 'several' : stateBoth(state)),
    stuck: ({ count }) => count,
    'at worst': ({ peak }) => peak,
    status: ({ endedAt }) => (endedAt === null ? 'open' : `over since ${relative(endedAt, now).replace(/ ago$/, '')}`),
  });
}

function printAdvice(context: CliContext, { advice }: IncidentStory): void {
  for (const [title, texts] of [
    ['What is wrong', advice.wrong],
    ['What to do', advice.todo],
  ] as const) {
    if (texts.length === 0) continue;
    printLine(context);
    printLine(context, styled(context, 'bold', title));
    for (const text of texts) printText(context, text, { indent: '  ' });
  }
}

function printCauses(context: CliContext, { causes, incident, lastAlert }: IncidentStory, consoleUrl: string | null): void {
  // The reasons name those who were stuck when people were last alerted.
  const asOf = incident.count > 0 || lastAlert === null ? '' : `, as it was at ${isoTime(lastAlert.at).slice(11, 19)}Z`;
  for (const [index, { cause, why, likely }] of causes.entries()) {
    printLine(context);
    const title = styled(
      context,
      'bold',
      printable(`${index > 0 ? 'Or' : likely ? 'Likely cause' : 'Possible cause'}${asOf}: ${titleOf(cause)} (${cause})`),
    );
    printLine(context, title);
    for (const text of [why, ...adviceOf(cause, consoleUrl)]) printText(context, text, { indent: '  ' });
  }
}

/** The trouble behind a cause, the first things to look at, and the page with more about it. */
function adviceOf(cause: string, consoleUrl: string | null): string[] {
  if (!isCauseKey(cause)) return [];
  const { cause: what, remedy, anchor } = CAUSES[cause];
  return [what, remedy, `More: ${consoleUrl === null ? 'docs/alerts.md' : `${consoleUrl}/docs/alerts.html`}#${anchor}`];
}

/** Who waits, as of the last alert, which is recorded without a channel, too. */
function printWaiting(context: CliContext, { incident, lastAlert, messages }: IncidentStory, now: Instant): void {
  if (lastAlert === null || lastAlert.data.kind !== 'stuck' || incident.endedAt !== null || incident.count === 0) return;
  const { purchases: ids, waiting, earlier } = lastAlert.data;
  const sums = waiting.map(({ amount, currency }) => `${amount} ${currency}`);
  const before =
    earlier === null || earlier.by === null
      ? null
      : `${earlier.cause} (${titleOf(earlier.cause)}), said ${earlier.by}${noteText(earlier.note)}`;
  if (ids.length === 0 && sums.length === 0 && before === null) return;
  printLine(context);
  printFacts(context, [
    [messages.length === 0 ? 'as it was' : 'as alerted', when(lastAlert.at, now)],
    ['waiting', sums.length === 0 ? null : sums.join(', ')],
    ['oldest', ids.length === 0 ? null : ids.join(', ')],
    ['last time', before],
  ]);
}

function printMessages(
  context: CliContext,
  { incident, messages }: IncidentStory,
  { now, hasChannel }: { readonly now: Instant; readonly hasChannel: boolean },
): void {
  printLine(context);
  if (messages.length === 0) {
    if (!hasChannel && incident.endedAt === null) return void printLine(context, `${NO_CHANNEL}.`);
    const through = incident.parent === null ? '' : `; it is part of ${incident.parent}`;
    return void printLine(context, `Nobody was alerted${incident.endedAt === null ? ' yet' : ''}${through}.`);
  }
  printTable(context, messages, {
    alerted: ({ channel }) => channel,
    what: ({ stage }) => stage,
    when: ({ at }) => when(at, now),
    status: ({ status }) => status,
  });
}

/** Writes the commands that a person may need next. */
function printHint(context: CliContext, { id, endedAt, acknowledgedAt, answer }: IncidentRow): void {
  const hints = [
    endedAt === null && acknowledgedAt === null ? ['You look after it?', commandLine`incidents acknowledge ${id}`] : null,
    answer === null ? ['You know what it was?', commandLine`incidents answer ${id} --cause …`] : null,
  ].filter((hint) => hint !== null);
  if (hints.length === 0) return;
  printLine(context);
  // A command stands on a line of its own, so that it can be copied whole.
  for (const [question, command] of hints) {
    printLine(context, question);
    printLine(context, `  ${command}`);
  }
}

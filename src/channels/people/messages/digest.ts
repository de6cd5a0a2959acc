/**
 * The message of a digest (data as domain/events/people-event-types.ts describes it). People read it over coffee: how many
 * incidents, what is still open, who is stuck; then site by site. Nothing in it is an alarm.
 */

import type { DigestData } from '../../../domain/events/people-event-types.ts';
import { CAUSES, isCauseKey } from '../../../domain/incidents/causes.ts';
import { RANGE_WORDS } from '../../../domain/trends/period.ts';
import { counted, grouped } from '../../../domain/values/counts.ts';
import { humanDuration } from '../../../domain/values/duration.ts';
import type { Instant } from '../../../domain/values/time.ts';
import { customers, type Draft, type Labelled, LONGEST_NAME, lasting, waitingFor } from './draft.ts';
import { cut, moment, plain } from './mrkdwn.ts';

const SIGN = '📋';
/** Sites that have a paragraph; the others are only named. */
const SHOWN_SITES = 20;
/** Lines about one thing at a site, and names in a row. */
const SHOWN_LINES = 5;
const SHOWN_NAMES = 10;
/** Of the 4 000 characters of a message, what all sites together may have. */
const LONGEST_SITES = 2_800;

type Site = DigestData['sites'][number];
type Row<List extends 'incidents' | 'overdue' | 'stays' | 'pace'> = Site[List][number];

/** Lays a digest out, given when it was made and its data. What could not be read is left out. */
export function digestDraft({ at, data }: { readonly at: Instant; readonly data: DigestData }): Draft {
  const { sites, quiet, since } = data;
  const frame = { until: data.until ?? at, countedTo: data.countedTo };
  const counts = countsOf(sites);
  const { all, open, overdue } = counts;
  return {
    headline: `${SIGN} ${headline([...sites.map(nameOf), ...quiet], counts)}`,
    facts: [
      ['Since', since === null ? null : moment(since)],
      ['Incidents', all === 0 ? 'none' : `${grouped(all)}, ${open === 0 ? 'all over' : `${grouped(open)} still open`}`],
      ['Stuck now', overdue === 0 ? 'nobody' : counted(overdue, 'purchase')],
    ],
    paragraphs: [...siteParagraphs(sites, frame), ...subscribersParagraph(data, frame), ...quietParagraph(quiet)],
  };
}

/** Facts that hold for all of a digest. */
interface DigestFrame {
  readonly until: Instant;
  readonly countedTo: number | null;
}

type Counts = ReturnType<typeof countsOf>;

/** An incident of several sites is one. */
function countsOf(sites: readonly Site[]) {
  const incidents = sites.flatMap(incidentsOf);
  const distinct = (some: readonly ListedIncident[]): number => new Set(some.map(({ id }) => id)).size;
  return {
    all: distinct(incidents),
    open: distinct(incidents.filter(({ endedAt }) => endedAt === null)),
    overdue: sum(sites, (site) => sum(site.overdue, ({ count }) => count)),
  };
}

/** A letter leads to the page of trends; another digest to the page Now. */
export function digestPage({ sites }: DigestData): string {
  const isLetter = sites.some(({ trend }) => trend?.range === '7d');
  const only = sites.length === 1 ? `&site=${encodeURIComponent(nameOf(sites[0]!))}` : '';
  return isLetter ? `/trends?range=7d${only}` : '/';
}

function headline(sites: readonly string[], counts: Counts): string {
  const where = sites.length === 1 ? plain(sites[0]!, LONGEST_NAME) : `${grouped(sites.length)} sites`;
  return `Digest of ${where}: ${totals(counts)}`;
}

function totals({ all, open, overdue }: Counts): string {
  const incidents = all === 0 ? 'no incidents' : counted(all, 'incident');
  const standing = open === 0 ? '' : ` (${grouped(open)} still open)`;
  const waiting = overdue === 0 ? 'nobody stuck now' : `${counted(overdue, 'purchase')} stuck now`;
  return `${incidents}${standing}, ${waiting}`;
}

/** Each site shown has at least its numbers; those in front have as many lines instead as there is room for. */
function siteParagraphs(sites: readonly Site[], frame: DigestFrame): Labelled[] {
  const shown = sites.slice(0, SHOWN_SITES).map((site) => {
    const lines = siteLines(site, frame);
    return { label: plain(nameOf(site), LONGEST_NAME), lines, brief: `• ${totals(countsOf([site]))}` };
  });
  let room = LONGEST_SITES - sum(shown, ({ label, brief }) => label.length + brief.length + 4);
  const paragraphs = shown.map(({ label, lines, brief }): Labelled => {
    const longest = brief.length + room;
    // Less than two lines say less than the numbers do.
    if (lines.slice(0, 2).join('\n').length + 2 > longest) return [label, brief];
    const text = cut(lines.join('\n'), longest);
    room -= Math.max(text.length - brief.length, 0);
    return [label, text];
  });
  const more = sites.slice(SHOWN_SITES).map(nameOf);
  return more.length === 0 ? paragraphs : [...paragraphs, ['More sites with something to say', names(more)]];
}

function siteLines(site: Site, { until, countedTo }: DigestFrame): string[] {
  const incidents = incidentsOf(site);
  const [open, over] = [incidents.filter(({ endedAt }) => endedAt === null), incidents.filter(({ endedAt }) => endedAt !== null)];
  const withEach = (word: string, some: readonly ListedIncident[]) => some.map((each) => `${word}: ${incidentText(each, until)}`);
  const lost = [
    ...lostText(site.unreadable, 'became unreadable', countedTo),
    ...lostText(site.expired, 'given up after a long time without a change', countedTo),
  ];
  return [
    ...(site.trend === null ? [] : trendText(site.trend)),
    ...few('open incidents', withEach('Still open', open)),
    ...few('incidents that are over', withEach('Over', over)),
    ...few(
      'states with somebody stuck',
      site.overdue.flatMap((row) => stuckText(row, until)),
    ),
    ...few('states', site.stays.map(staysText)),
    ...few('states near their limit', site.pace.flatMap(paceText)),
    ...lost,
  ].map((line) => `• ${line}`);
}

type ListedIncident = ReturnType<typeof incidentsOf>[number];

function incidentsOf(site: Site) {
  return site.incidents.map(({ incidentId, kind, states, partOf, peak, openedAt, endedAt, owner, cause }: Row<'incidents'>) => {
    const [only] = states;
    const place = only === undefined ? '' : states.length === 1 ? ` ${waitingFor(only)}` : ` in ${states.length} states at once`;
    const several = partOf === null ? '' : ', with other sites';
    const what =
      kind === 'unreachable'
        ? 'no purchase was read'
        : `customers stuck${place}${several}${peak === null ? '' : `, ${grouped(peak)} at the worst`}`;
    // The id of the one about several sites, where it is part of such.
    return { id: partOf ?? incidentId, what, openedAt, endedAt, owner, cause };
  });
}

function incidentText({ what, openedAt, endedAt, owner, cause }: ListedIncident, until: Instant): string {
  const lasted = `from ${moment(openedAt)}, for ${lasting(openedAt, endedAt ?? until)}`;
  const known = cause !== null && isCauseKey(cause) ? CAUSES[cause].title : cause;
  const who =
    owner !== null ? `; ${plain(owner, LONGEST_NAME)} looks after it` : endedAt === null ? '; nobody looks after it' : '';
  const afterwards = owner === null ? '' : `; ${plain(owner, LONGEST_NAME)} looked after it`;
  const why = known === null ? '' : `; it was: ${plain(known, 80)}`;
  return `${what}, ${lasted}${endedAt === null ? who : afterwards}${why}`;
}

function stuckText({ state, count: number, since }: Row<'overdue'>, until: Instant): string[] {
  if (number === 0) return [];
  const oldest = since === null ? '' : `, ${number === 1 ? '' : 'the oldest '}for ${lasting(since, until)}`;
  return [`Stuck now: ${counted(number, 'purchase')} ${waitingFor(state)}${oldest}`];
}

function staysText({ state, entrants, overdue, share: now, usualShare: usual }: Row<'stays'>): string {
  const shares = now === null ? '' : ` (${inHundred(now)}${usual === null ? '' : `; usually ${inHundred(usual)}`})`;
  return `Full days (UTC): ${customers(entrants)} ${waitingFor(state)}, of which ${grouped(overdue)} got stuck${shares}`;
}

function paceText({ state, p95Ms: p95, usualP95Ms: usual, limitMs: limit }: Row<'pace'>): string[] {
  if (limit === null) return [];
  const before = usual === null ? '' : `, before that ${humanDuration(usual)}`;
  return [
    `Slow: customers ${waitingFor(state)} needed up to ${humanDuration(p95)} (95 % of them)${before}; they count as stuck after ${humanDuration(limit)}`,
  ];
}

function trendText({ range, customers: number, share: paid, change, before }: NonNullable<Site['trend']>): string[] {
  if (number === 0) return [];
  const words = RANGE_WORDS[range];
  const last = `The last ${words.length}: ${customers(number)}`;
  if (paid === null) return [`${last}, too few to say more`];
  const then =
    before.share === null
      ? `; too few came in ${words.before} to compare`
      : comparedText(change, inHundred(before.share), words.before);
  return [`${last}, of whom ${inHundred(paid)} paid${then}`];
}

function comparedText(change: NonNullable<Site['trend']>['change'], then: string, before: string): string {
  if (change === 'as_before') return `; ${then} in ${before}: chance can make the difference`;
  return `, ${change === 'better' ? 'more' : 'fewer'} than in ${before} (${then})`;
}

function lostText(number: number, what: string, countedTo: number | null): string[] {
  return number === 0 ? [] : [`${counted(number, 'purchase', 'purchases', countedTo)} ${what}`];
}

function subscribersParagraph({ subscribers }: DigestData, { countedTo }: DigestFrame): Labelled[] {
  const lines = subscribers.flatMap(({ subscriber: name, givenUp, parked, off }) => {
    const parts = [
      ...(off ? ['is switched off'] : []),
      ...(givenUp > 0 ? [`${grouped(givenUp, countedTo)} given up`] : []),
      ...(parked > 0 ? [`${grouped(parked, countedTo)} waiting until it takes something again`] : []),
    ];
    return parts.length === 0 ? [] : [`${plain(name, LONGEST_NAME)}: ${parts.join(', ')}`];
  });
  const shown = few('subscribers', lines, SHOWN_NAMES).map((line) => `• ${line}`);
  return shown.length === 0 ? [] : [['Deliveries', shown.join('\n'), { order: 40 }]];
}

function quietParagraph(quiet: readonly string[]): Labelled[] {
  return quiet.length === 0
    ? []
    : [['Nothing to say of', names(quiet), { order: 1, shorter: [`${grouped(quiet.length)} sites`] }]];
}

/** The first few lines, and how many more there are. */
function few(what: string, lines: readonly string[], most = SHOWN_LINES): string[] {
  const more = lines.length - most;
  return more <= 0 ? [...lines] : [...lines.slice(0, most), `and ${grouped(more)} more ${what}`];
}

function names(all: readonly string[]): string {
  const more = all.length - SHOWN_NAMES;
  const shown = all.slice(0, SHOWN_NAMES).map((name) => plain(name, LONGEST_NAME));
  return more > 0 ? `${shown.join(', ')} and ${grouped(more)} more` : shown.join(', ');
}

const nameOf = ({ site }: Site): string => site;

function sum<T>(rows: readonly T[], of: (row: T) => number): number {
  return rows.reduce((total, row) => total + of(row), 0);
}

function inHundred(part: number): string {
  const hundredths = Math.round(part * 100);
  return part > 0 && hundredths < 1 ? 'fewer than 1 in 100' : `${hundredths} in 100`;
}

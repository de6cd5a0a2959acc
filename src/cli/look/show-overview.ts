/** Shows how everything is: sites, purchases, what is stuck, whether polls and deliveries keep up. */

import { clientCertificates } from '../../actions/client-certificates.ts';
import { ownFindings } from '../../actions/doctor/system-page.ts';
import type { IncidentRow } from '../../actions/incidents/incidents.ts';
import { careOf, comingEnd, lengthOf, placeOf, whatOf } from '../../actions/incidents/words.ts';
import {
  MOST_SHOWN,
  type Overview,
  readOverview,
  totalLag,
  type WaitingDeliveries,
  waitingOf,
} from '../../actions/overview/overview.ts';
import { healthBody } from '../../actions/subscribers/body.ts';
import { ON_THEIR_WAY } from '../../domain/explain/poll.ts';
import { levelOf } from '../../domain/incidents/incident.ts';
import { SINGLES_FIRST, withinText } from '../../domain/polling/first-polls.ts';
import { unpolledAdvice, unpolledText } from '../../domain/polling/unpolled.ts';
import { stateBoth } from '../../domain/purchases/states.ts';
import { NO_DAEMON, unwritableAdvice } from '../../domain/replicas/daemon-silence.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { relative } from '../../domain/values/relative-time.ts';
import type { Instant } from '../../domain/values/time.ts';
import { printUnreadable } from '../purchases/show-unreadable.ts';
import { statusWord } from '../subscribers/show-health.ts';
import { printTrouble } from '../subscribers/show-trouble.ts';
import type { CliContext } from '../terminal/context.ts';
import type { OpenDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine, printText, styled } from '../terminal/output.ts';
import { requireSite } from '../terminal/site.ts';
import { printTable } from '../terminal/table.ts';
import { printSiteCalls, printSites } from './show-sites.ts';

/** Needs that are listed below the headline. */
const MOST_NEEDS = 10;

/** Prints the overview; with `site` of this one alone, but for the headline. */
export async function showOverview(
  context: CliContext,
  { sql, settings, url }: OpenDatabase,
  { site, json }: { site: string | undefined; json: boolean },
): Promise<void> {
  const others = () => ownFindings(sql, settings, clientCertificates(settings, url)());
  const overview = await readOverview(sql, { site, others });
  if (overview.sites.length === 0) await requireSite(sql, site);
  if (json) return printJson(context, overview.body);
  printHeadline(context, overview);
  printSites(context, overview);
  printSiteCalls(context, overview, site !== undefined);
  printPurchases(context, overview);
  printUnreadable(context, overview.unreadable, overview.now);
  printIncidents(context, overview);
  printPolling(context, overview);
  printSubscribers(context, overview);
}

/** First of all one sentence about everything; then of each thing that needs a person since when, why, and what to do. */
function printHeadline(context: CliContext, { headline, now }: Overview): void {
  const { text, severity, needs } = headline;
  printText(context, text, severity === 'critical' ? { style: 'red' } : severity === 'warning' ? { style: 'yellow' } : {});
  for (const [index, need] of needs.slice(0, MOST_NEEDS).entries()) {
    const long = need.since === null ? null : `For ${humanDuration(Math.floor(Math.max(now - need.since, 0) / 1_000) * 1_000)}`;
    const facts = [index === 0 ? null : need.text, need.why, long].filter((fact) => fact !== null);
    printText(context, [...facts, `What to do: ${need.todo}`].join('. '), { indent: '  ' });
  }
  if (needs.length > MOST_NEEDS)
    printLine(context, `  and ${needs.length - MOST_NEEDS} more: "purchase-watch doctor" lists them`);
  printLine(context);
}

function printPurchases(context: CliContext, { counts, oldest: longest, now }: Overview): void {
  printLine(context);
  if (counts.length === 0) return void printLine(context, 'No purchases yet. Register one with: purchase-watch watch <id>');
  printTable(context, counts, {
    site: ({ site }) => site,
    status: ({ status }) => status,
    state: ({ state }) => (state === null ? 'not seen yet' : stateBoth(state)),
    purchases: ({ count }) => count,
    stuck: ({ stuck }) => stuck,
    'oldest since': ({ oldest }) => (oldest === null ? '' : relative(oldest, now)),
  });
  const stuck = counts.reduce((sum, row) => sum + row.stuck, 0);
  if (stuck === 0) return;
  printLine(context);
  const text = `${counted(stuck, 'purchase')} stuck${longest === null ? '' : `; see why the oldest is: ${commandLine`why ${longest.purchaseId} --site ${longest.site}`}`}`;
  printText(context, text, { style: 'red' });
}

function printIncidents(context: CliContext, { incidents, now }: Overview): void {
  if (incidents.length === 0) return;
  printLine(context);
  const shown = incidents.slice(0, MOST_SHOWN);
  const isPart = ({ parent }: IncidentRow): boolean => shown.some(({ id }) => id === parent);
  const print = (incident: IncidentRow, depth: number): void => {
    const isCritical = levelOf(incident) === 'critical';
    printText(context, incidentText(incident, now), { indent: '  '.repeat(depth), ...(isCritical && { style: 'red' }) });
    for (const part of shown.filter(({ parent }) => parent === incident.id)) print(part, depth + 1);
  };
  for (const incident of shown.filter((each) => !isPart(each))) print(incident, 0);
  const more = incidents.length > MOST_SHOWN ? 'and more: purchase-watch incidents lists them all; ' : '';
  printLine(context, `${more}see one: ${commandLine`incidents show ${shown[0]!.id}`}`);
}

function incidentText(incident: IncidentRow, now: Instant): string {
  const what = `incident ${incident.id}, open for ${lengthOf(incident, now)}: ${placeOf(incident)}: ${whatOf(incident)}`;
  const end = comingEnd(incident, now);
  const critical = levelOf(incident) === 'critical' ? '; critical' : '';
  return `${what}${critical}${end === null ? '' : `; ${end}`}${careOf(incident, now)}`;
}

function printPolling(context: CliContext, { sites, lags, firsts, replicas, silence, now }: Overview): void {
  printLine(context);
  const lag = totalLag(lags);
  const late = lag.due > 0 && lag.oldest > ON_THEIR_WAY;
  const due = late
    ? styled(
        context,
        'yellow',
        `${lag.atLeast ? 'at least ' : ''}${counted(lag.due, 'poll')} late, the oldest by ${humanDuration(lag.oldest)}`,
      )
    : 'up to date';
  const unpolled = sites.filter((site) => site.unpolled > 0);
  for (const site of unpolled)
    printText(context, `polling  ${unpolledText(site)}; ${unpolledAdvice(site)}`, {
      style: site.failingSince === null ? 'yellow' : 'red',
    });
  if (unpolled.length === 0) printLine(context, `polling  ${due}`);
  for (const polls of firsts) {
    if (polls.waiting === 0 || unpolled.some(({ name }) => name === polls.site)) continue;
    const text = `${counted(polls.waiting, 'first poll')} of bulk registrations at site ${polls.site} to come, ${withinText(polls)}`;
    printLine(context, `         ${text}; ${SINGLES_FIRST}`);
  }
  const missing = silence.takesWrites ? NO_DAEMON : unwritableAdvice(silence);
  if (replicas.length === 0) printLine(context, `daemon   ${styled(context, 'yellow', missing)}`);
  for (const { id, startedAt, shards } of replicas) {
    printLine(context, `daemon   ${id}, started ${relative(startedAt, now)}, owns ${shards} of 64 shards`);
  }
}

function printSubscribers(context: CliContext, overview: Overview): void {
  const { subscribers, waiting, now } = overview;
  printLine(context);
  if (subscribers.length === 0)
    return void printLine(context, 'No subscribers: nothing is sent. Set WEBHOOK_URL or SLACK_WEBHOOK_URL.');
  const dueSince = (at: Instant | null): string => (at === null ? '' : relative(at, now));
  printTable(context, subscribers, {
    subscriber: ({ name }) => name,
    kind: ({ kind }) => kind,
    status: (row) => statusWord({ status: row.status, health: healthBody(row) }),
    waiting: ({ id }) => waitingText(waitingOf(waiting, id)),
    'due since': ({ id }) => dueSince(waitingOf(waiting, id).dueSince),
  });
  printTrouble(context, overview);
}

function waitingText({ pending, inFlight, parked, atLeast }: WaitingDeliveries): string | number {
  const rest = parked > 0 ? `${parked}${atLeast ? '+' : ''} parked` : atLeast ? `${pending}+` : pending;
  return inFlight === 0 ? rest : `${rest}, ${inFlight} in flight`;
}

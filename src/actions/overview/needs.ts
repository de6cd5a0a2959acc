import { endsUnless } from '../../domain/incidents/ending.ts';
import type { Level } from '../../domain/incidents/incident.ts';
import { counted } from '../../domain/values/counts.ts';
import { humanDuration } from '../../domain/values/duration.ts';
import { sentence } from '../../domain/values/sentence.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { placeOf, whatOf } from '../incidents/words.ts';
import { daemonFindings, type Tested } from './daemons.ts';
import { type OverviewFacts, readFacts } from './facts.ts';
import { type Finding, type Reporter, reporterOf } from './finding.ts';
import {
  fewerThanUsual,
  incidentNeed,
  isActive,
  lostNeeds,
  NEED_KINDS,
  type Need,
  type NeedKind,
  stuckNeeds,
  unheardNeeds,
  unreadableNeeds,
} from './need.ts';
import { serverFindings } from './server.ts';

/** The sentence that stands first on the console, in `status` and in `GET /v1/overview`. */
export interface Headline {
  readonly title: string;
  readonly text: string;
  /** `ending`: only incidents that end by themselves are open. Null: there is nothing to do. */
  readonly severity: Level | 'ending' | null;
}

/** Incidents that are part of no other open incident. */
const topmost = (incidents: readonly IncidentRow[]): IncidentRow[] =>
  incidents.filter(({ parent }) => !incidents.some(({ id }) => id === parent));

/** The needs of the facts in the database and of findings from elsewhere, the gravest first. */
export function needsOf(facts: OverviewFacts, others: readonly Finding[] = []): Need[] {
  const open = topmost(facts.incidents.filter(isActive)).sort(moreUrgent);
  const has = (kind: IncidentRow['kind'], name?: string): boolean =>
    open.some((each) => each.kind === kind && (name === undefined || each.site === name || each.subscriber === name));
  const { running, replicas, database, sites, receivers } = daemonFindings(reporterOf('daemons'), facts, { untested: false });
  const isLone = (kind: IncidentRow['kind']) => (finding: Finding) => !has(kind, nameOf(finding));
  const stuck = stuckNeeds(facts);
  const isPeople = (name: string): boolean => facts.subscribers.some((each) => each.name === name && each.audience === 'people');
  const channels = receivers.filter((finding) => isPeople(nameOf(finding)) && finding.verdict !== 'ok');
  const systems = receivers.filter((finding) => !isPeople(nameOf(finding)));
  const isDeaf = facts.subscribers.filter(({ audience }) => audience === 'people').length <= channels.length;
  // About an incident of a channel itself, the other channels alert people.
  const isAlerting = open.some(({ subscriber }) => subscriber === null || !isPeople(subscriber)) || stuck.length > 0;
  const needs: Need[] = [
    ...open.map((incident) => {
      const need = incidentNeed(incident, facts, [...sites, ...receivers]);
      const isChannel = incident.subscriber !== null && isPeople(incident.subscriber);
      return isChannel
        ? { ...need, kind: 'channel' as const, ...(isAlerting && isDeaf && { severity: 'critical' as const }) }
        : need;
    }),
    ...(isAlerting ? unheardNeeds(facts) : []),
    ...channels.filter(isLone('subscriber')).flatMap((finding) => needOf('channel', finding, isAlerting && isDeaf)),
    ...running.flatMap((finding) => needOf('replica', finding, facts.replicas.length === 0)),
    ...(has('replica') ? [] : replicas).flatMap((finding) => needOf('replica', finding)),
    ...database.flatMap((finding) => needOf('database', finding)),
    ...systems.filter(isLone('subscriber')).flatMap((finding) => needOf('subscriber', finding)),
    ...lostNeeds(facts).filter((need) => !has('subscriber', nameOf(need))),
    ...mended(sites, facts)
      .filter(isLone('unreachable'))
      .flatMap((finding) => needOf('site', finding)),
    ...unasked(facts).flatMap((finding) => needOf('site', finding)),
    ...stuck,
    ...unreadableNeeds(facts),
    ...[...serverFindings(facts), ...others].flatMap((finding) => needOf('settings', finding)),
    ...fewerThanUsual(facts),
  ];
  const rank = ({ severity, kind }: Need): number =>
    (severity === 'critical' ? 0 : NEED_KINDS.length) +
    NEED_KINDS.indexOf(kind === 'channel' && !isAlerting ? 'subscriber' : kind);
  return needs.sort((one, other) => rank(one) - rank(other));
}

/** The facts as findings of doctor: also those that are well, with incidents and stuck purchases. */
export async function checkNow(report: Reporter, sql: Sql, tested: Tested & { readonly server?: true }): Promise<Finding[]> {
  const facts = await readFacts(sql);
  const asFinding = ({ about, severity, text, why, todo }: Need): Finding =>
    reporterOf(about)[severity === 'critical' ? 'failed' : 'warning'](why === null ? text : `${text}: ${why}`, todo);
  const people = [
    ...topmost(facts.incidents.filter(isActive)).map((incident) => incidentNeed(incident, facts)),
    ...lostNeeds(facts),
    ...stuckNeeds(facts),
    ...unreadableNeeds(facts),
    ...fewerThanUsual(facts),
  ];
  return [
    ...Object.values(daemonFindings(report, facts, tested)).flat(),
    ...unasked(facts),
    ...(tested.server ? serverFindings(facts) : []),
    ...people.map(asFinding),
  ];
}

/** Incidents without an owner first, then those with more customers. */
function moreUrgent(one: IncidentRow, other: IncidentRow): number {
  return Number(one.acknowledgedAt !== null) - Number(other.acknowledgedAt !== null) || other.count - one.count;
}

/** `books` of a finding about `receiver books`. */
const nameOf = ({ about }: Pick<Finding, 'about'>): string => about.replace(/^\w+ /, '');

/** Where the console has what is to be done about a kind of thing. */
function actionOf(kind: NeedKind, name: string): Need['action'] {
  const at = encodeURIComponent(name);
  if (kind === 'subscriber') return { path: `/subscribers/${at}`, label: 'Look, and resume' };
  if (kind === 'channel') return { path: '/channels', label: 'See the channels' };
  if (kind === 'site') return { path: `/sites/${at}`, label: 'Look' };
  return { path: '/system', label: 'Open System' };
}

/** The need of a finding; none when all is well there. */
function needOf(kind: NeedKind, finding: Finding, isCritical = finding.verdict === 'failed'): Need[] {
  const { about, verdict, found, todo, brief } = finding;
  if (verdict === 'ok') return [];
  const isNamed = about === 'database' || about === 'settings';
  const text = brief?.what ?? sentence(isNamed ? found : `${about}: ${found}`);
  const { since = null, why = null } = brief ?? {};
  const severity = isCritical ? 'critical' : 'warning';
  return [{ kind, about, severity, text, since, why, todo: todo ?? '', action: actionOf(kind, nameOf(finding)), incident: null }];
}

/** Late polls of a site that cannot be read follow from that. */
function mended(findings: readonly Finding[], { sites }: OverviewFacts): Finding[] {
  const isFailing = (name: string): boolean => sites.some((site) => site.name === name && site.failingSince !== null);
  return findings.filter(({ about, found }) => !(found.includes(' are due, ') && isFailing(nameOf({ about }))));
}

const WAIT = 'wait some seconds; then "purchase-watch doctor" says what is wrong';

/** Sites with purchases of which the service has answered nothing yet: a start is under way. */
function unasked({ sites, counts }: OverviewFacts): Finding[] {
  return sites
    .filter(({ name, configured, lastSuccessAt, failingSince, unpolled }) => {
      const waits = counts.some(({ site, status, count }) => site === name && status === 'watching' && count > 0);
      return configured && lastSuccessAt === null && failingSince === null && unpolled === 0 && waits;
    })
    .map(({ name }) => reporterOf(`site ${name}`).warning('no answer has come yet; the first polls are under way', WAIT));
}

/** One sentence about everything: a person who reads only this sentence knows whether something has to be done. */
export function headlineOf(needs: readonly Need[], { counts, incidents, now }: OverviewFacts): Headline {
  const [worst] = needs;
  if (worst !== undefined) {
    const rest = needs.length - 1;
    const more = rest === 0 ? '' : ` ${counted(rest, 'more thing needs', 'more things need')} somebody.`;
    const title = `${counted(needs.length, 'thing needs', 'things need')} somebody, ${worst.severity}`;
    return { title, text: `${worst.text}.${more}`, severity: worst.severity };
  }
  const [ending] = topmost(incidents);
  if (ending !== undefined) {
    const left = Math.ceil(Math.max((ending.endsAt ?? now) - now, 1_000) / 1_000) * 1_000;
    const text = `${placeOf(ending)}: ${whatOf(ending)}. The incident ends in ${humanDuration(left)} ${endsUnless(ending)}.`;
    return { title: `${counted(incidents.length, 'incident ends', 'incidents end')} soon`, text, severity: 'ending' };
  }
  if (counts.length === 0) return { title: 'No purchase yet', text: 'No purchase is registered yet.', severity: null };
  return { title: 'Nothing needs to be done', text: 'Nothing needs to be done. No incident is open.', severity: null };
}

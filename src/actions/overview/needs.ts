/** Everything that needs a person now, and one sentence about it. Every headline of the product comes from here. Pure. */
import { areFewerThanUsual } from '../../domain/flow/flow.ts';
import { type Level, levelOf } from '../../domain/incidents/incident.ts';
import { sentence } from '../../domain/incidents/replica-trouble.ts';
import { statePlace } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { counted } from '../../domain/values/counts.ts';
import type { Sql } from '../../postgres/connection/database.ts';
import type { IncidentRow } from '../../postgres/incidents/list.ts';
import { comingEnd, placeOf, whatOf } from '../incidents/words.ts';
import { daemonFindings, type Tested } from './daemons.ts';
import { type Facts, readFacts } from './facts.ts';
import { type Finding, type Reporter, reporterOf } from './finding.ts';

/** Something that needs a person. */
export interface Need {
  /** The thing, such as `site se`, `receiver books` or `incident inc_…`. */
  readonly about: string;
  readonly severity: Level;
  /** What is wrong, as a sentence without its full stop. */
  readonly text: string;
  /** What to do, as a clause. */
  readonly todo: string;
  /** The open incident that the need is; null for others. */
  readonly incident: string | null;
}

/** The sentence that stands first on the console, in `status` and in `GET /v1/overview`. */
export interface Headline {
  readonly title: string;
  readonly text: string;
  /** `ending`: only incidents that end by themselves are open. Null: there is nothing to do. */
  readonly severity: Level | 'ending' | null;
}

/** An incident in which something is wrong: others end by themselves. */
const isActive = ({ endsAt }: Pick<IncidentRow, 'endsAt'>): boolean => endsAt === null;
/** One that is part of no other open incident. */
const topmost = (incidents: readonly IncidentRow[]): IncidentRow[] =>
  incidents.filter(({ parent }) => !incidents.some(({ id }) => id === parent));

/** What needs a person by the facts of the database and findings from elsewhere, the gravest first. */
export function needsOf(facts: Facts, others: readonly Finding[] = []): Need[] {
  const open = topmost(facts.incidents.filter(isActive));
  const has = (kind: IncidentRow['kind'], name?: string): boolean =>
    open.some((each) => each.kind === kind && (name === undefined || each.site === name || each.subscriber === name));
  const { daemons, replicas, database, sites, receivers } = daemonFindings(reporterOf('daemons'), facts, { untested: false });
  const isLone = (kind: IncidentRow['kind']) => (finding: Finding) => !has(kind, finding.about.replace(/^\w+ /, ''));
  const needs: Need[] = [
    ...daemons.map((finding) => needOf(finding, facts.daemons.length === 0)),
    ...open.map(incidentNeed),
    ...[
      ...(has('replica') ? [] : replicas),
      ...database,
      ...sites.filter(isLone('unreachable')),
      ...unasked(facts),
      ...receivers.filter(isLone('subscriber')),
      ...others,
    ].map((finding) => needOf(finding)),
    ...stuckNeeds(facts),
    ...unreadableNeeds(facts),
    ...fewerThanUsual(facts),
  ].filter((need) => need !== null);
  const rank = ({ severity }: Need): number => (severity === 'critical' ? 0 : 1);
  return needs.sort((one, other) => rank(one) - rank(other));
}

/** The same facts as findings of doctor: those that are well, and incidents and stuck purchases beside them. */
export async function checkNow(report: Reporter, sql: Sql, tested: Tested): Promise<Finding[]> {
  const facts = await readFacts(sql);
  const asFinding = ({ about, severity, text, todo }: Need): Finding =>
    reporterOf(about)[severity === 'critical' ? 'failed' : 'warning'](text, todo);
  const people = [
    ...topmost(facts.incidents.filter(isActive)).map(incidentNeed),
    ...stuckNeeds(facts),
    ...unreadableNeeds(facts),
    ...fewerThanUsual(facts),
  ];
  return [...Object.values(daemonFindings(report, facts, tested)).flat(), ...unasked(facts), ...people.map(asFinding)];
}

function needOf({ about, verdict, found, todo }: Finding, isCritical = verdict === 'failed'): Need | null {
  if (verdict === 'ok') return null;
  const text = sentence(about === 'database' ? found : `${about}: ${found}`);
  return { about, severity: isCritical ? 'critical' : 'warning', text, todo: todo ?? '', incident: null };
}

function incidentNeed(incident: IncidentRow): Need {
  return {
    about: `incident ${incident.id}`,
    severity: levelOf(incident),
    text: `${placeOf(incident)}: ${whatOf(incident)}`,
    todo: `see "${commandLine`incidents show ${incident.id}`}"`,
    incident: incident.id,
  };
}

/** Stuck purchases that no incident with an alarm counts. */
function stuckNeeds({ counts, incidents }: Facts): Need[] {
  const places = incidents
    .filter(isActive)
    .filter(({ kind }) => kind === 'stuck')
    .flatMap((incident) => [incident, ...incident.parts.filter(({ endedAt }) => endedAt === null)]);
  return counts
    .filter(({ stuck, site, state }) => stuck > 0 && !places.some((place) => place.site === site && place.state === state))
    .map(({ site, state, stuck }) => ({
      about: `site ${site}`,
      severity: 'warning',
      text: `${site}: ${counted(stuck, 'purchase is', 'purchases are')} stuck ${state === null ? 'in no known state' : statePlace(state)}`,
      todo: 'see why, and help the customer on: the list of stuck purchases is in the console, "purchase-watch why <id>" says more of one',
      incident: null,
    }));
}

/** Purchases of which lately no answer could be used or recorded. */
function unreadableNeeds({ unreadable }: Facts): Need[] {
  const [first] = unreadable;
  if (first === undefined) return [];
  const { site, purchaseId, lastError } = first;
  const rest = unreadable.length === 1 ? '' : ` (and ${counted(unreadable.length - 1, 'more purchase', 'more purchases')})`;
  return [
    {
      about: `purchase ${purchaseId}`,
      severity: 'warning',
      text: `${site}: purchase ${purchaseId} cannot be read${rest}: ${(lastError ?? 'no reason is known').replace(/\.$/, '')}`,
      todo: `see "${commandLine`why ${purchaseId} --site ${site}`}", and ask the service's operator about the answer`,
      incident: null,
    },
  ];
}

/** Sites with purchases of which the service has answered nothing yet: a start is under way. */
function unasked({ sites, counts }: Facts): Finding[] {
  return sites
    .filter(({ name, configured, lastSuccessAt, failingSince, unpolled }) => {
      const waits = counts.some(({ site, status, count }) => site === name && status === 'watching' && count > 0);
      return configured && lastSuccessAt === null && failingSince === null && unpolled === 0 && waits;
    })
    .map(({ name }) =>
      reporterOf(`site ${name}`).warning(
        'no answer has come yet; the first polls are under way',
        'wait some seconds; then "purchase-watch doctor" says what is wrong',
      ),
    );
}

function fewerThanUsual({ completions }: Facts): Need[] {
  if (!areFewerThanUsual(completions)) return [];
  const { completed, usual } = completions;
  return [
    {
      about: 'purchases',
      severity: 'warning',
      text: `Fewer purchases complete than usual: ${Math.round(completed)} in the hour, usually ${Math.round(usual ?? 0)}`,
      todo: 'compare with the orders of the shop: fewer customers may have come, or customers may be lost before they are registered here',
      incident: null,
    },
  ];
}

/** One sentence about everything: a person who reads only this sentence knows whether something has to be done. */
export function headlineOf(needs: readonly Need[], { counts, incidents, completions, now }: Facts): Headline {
  const [worst] = needs;
  if (worst !== undefined) {
    const rest = needs.length - 1;
    const more = rest === 0 ? '' : ` ${counted(rest, 'more thing needs', 'more things need')} a person.`;
    const title = `${counted(needs.length, 'thing needs', 'things need')} a person, ${worst.severity}`;
    return { title, text: `${worst.text}.${more}`, severity: worst.severity };
  }
  const [ending] = topmost(incidents);
  if (ending !== undefined) {
    const text = `${placeOf(ending)}: ${whatOf(ending)}. The incident ${comingEnd(ending, now)}.`;
    return { title: `${counted(incidents.length, 'incident ends', 'incidents end')} soon`, text, severity: 'ending' };
  }
  if (counts.length === 0) return { title: 'No purchase yet', text: 'No purchase is registered yet.', severity: null };
  const calm = completions.usual === null ? 'No incident is open.' : 'Customers get on as usual.';
  return { title: 'Nothing needs to be done', text: `${calm} Nothing needs to be done.`, severity: null };
}

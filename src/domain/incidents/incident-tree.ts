/**
 * Incidents of stuck purchases that have one cause: several states of a site, or several sites at once. They get a parent,
 * which speaks for all of them. Pure.
 */

import type { Instant, Milliseconds } from '../values/time.ts';
import { type Incident, openIncident } from './incident.ts';
import type { Symptom } from './symptom.ts';

/** Incidents that began within this time of each other are taken for the same trouble. */
export const TOGETHER: Milliseconds = 30 * 60_000;

/** Whether an incident is about one state of one site: what others are made of. */
export function isLeaf({ kind, site, state }: Incident): boolean {
  return kind === 'stuck' && site !== null && state !== null;
}

/** Whether an incident is made of others. */
export function isParent({ kind, site, state }: Incident): boolean {
  return kind === 'stuck' && (site === null || state === null);
}

/** The leaves below an incident, itself if it is one. */
export function leavesOf(incident: Incident, all: readonly Incident[]): Incident[] {
  if (isLeaf(incident)) return [incident];
  return all.filter(({ parent }) => parent === incident.id).flatMap((child) => leavesOf(child, all));
}

/** The symptom of a parent, from the symptoms of its leaves; null when there are none. */
export function combined(parent: Incident, symptoms: readonly Symptom[]): Symptom | null {
  if (symptoms.length === 0) return null;
  const { kind, site, state, subscriber } = parent;
  const sites = new Set(symptoms.filter(({ count }) => count > 0).map((symptom) => symptom.site));
  const severity = Math.max(sites.size > 1 ? 1 : 0, ...symptoms.map((symptom) => symptom.severity));
  const count = symptoms.reduce((sum, symptom) => sum + symptom.count, 0);
  const since = Math.min(...symptoms.map((symptom) => symptom.since));
  const clear = symptoms.flatMap(({ clearsAt }) => clearsAt ?? []);
  const clearsAt = clear.length === symptoms.length ? Math.max(...clear) : null;
  return { kind, site, state, subscriber, severity, count, since, clearsAt };
}

/**
 * Puts open incidents that began together under a parent, made where there is none; answers all of them, parents last.
 * First the states of each site, then the sites.
 */
export function fold(open: readonly Incident[], { now, newId }: { now: Instant; newId: () => string }): Incident[] {
  const sites = [...new Set(open.filter(isLeaf).map(({ site }) => site!))].sort();
  const ofSites = sites.reduce((all, site) => {
    const candidates = all.filter((each) => isLeaf(each) && each.site === site && isLoose(each));
    const parent = all.find((each) => isParent(each) && each.site === site);
    return gather(all, { parent, candidates, enough: (some) => some.length >= 2, scope: { site, state: null }, now, newId });
  }, open);
  const tops = ofSites.filter((each) => each.kind === 'stuck' && each.site !== null && isLoose(each));
  const provider = ofSites.find((each) => isParent(each) && each.site === null);
  const enough = (some: readonly Incident[]): boolean => new Set(some.map(({ site }) => site)).size >= 2;
  const folded = gather(ofSites, { parent: provider, candidates: tops, enough, scope: { site: null, state: null }, now, newId });
  return folded.map((each) => (isParent(each) && each.site === null ? { ...each, state: commonState(each, folded) } : each));
}

/** Whether an incident has no parent, and customers who are waiting. */
function isLoose({ parent, quietSince, count }: Incident): boolean {
  return parent === null && quietSince === null && count > 0;
}

function beginning({ openedAt, reopenedAt }: Incident): Instant {
  return reopenedAt ?? openedAt;
}

interface Gathering {
  readonly parent: Incident | undefined;
  readonly candidates: readonly Incident[];
  enough(some: readonly Incident[]): boolean;
  readonly scope: Pick<Incident, 'site' | 'state'>;
  readonly now: Instant;
  newId(): string;
}

/** Adds candidates to their parent, or makes one of those that began together. */
function gather(all: readonly Incident[], { parent, candidates, enough, scope, now, newId }: Gathering): Incident[] {
  const others = parent === undefined ? candidates : all.filter((each) => each.parent === parent.id);
  const near = (one: Incident): boolean =>
    others.some((other) => other !== one && Math.abs(beginning(other) - beginning(one)) <= TOGETHER);
  const together = candidates.filter(near);
  if (parent === undefined && !enough(together)) return [...all];
  const made = parent ?? parentOf(newId(), together, scope, now);
  const ids = new Set(together.map(({ id }) => id));
  const rest = all.map((each) => (ids.has(each.id) ? { ...each, parent: made.id } : each));
  return parent === undefined ? [...rest, made] : rest;
}

function parentOf(id: string, children: readonly Incident[], scope: Gathering['scope'], now: Instant): Incident {
  const count = children.reduce((sum, child) => sum + child.count, 0);
  const since = Math.min(...children.map((child) => child.since));
  const severity = Math.max(scope.site === null ? 1 : 0, ...children.map((child) => child.severity));
  return openIncident(id, { kind: 'stuck', ...scope, subscriber: null, severity, count, since }, now);
}

function commonState(parent: Incident, all: readonly Incident[]): number | null {
  const states = new Set(leavesOf(parent, all).map(({ state }) => state));
  const [only = null] = states;
  return states.size === 1 ? only : null;
}

/** Which of several hosts is the database, by what each of them answered. Pure. */
import type { Host } from '../address/database-url.ts';

/** A server that takes writes. Null where Postgres does not reveal it. */
export interface Primary {
  readonly host: Host;
  /** Which cluster it is: a standby has the number of its primary. */
  readonly system: string | null;
  /** Each promotion begins the next timeline: of two primaries the one with the higher timeline was promoted later. */
  readonly timeline: number | null;
  /** When the server was started: two addresses with the same moment lead to the same server. */
  readonly startedAt: string;
}

/** One host's answer: what it is, or why it does not serve. */
export type HostAnswer = Primary | { readonly host: Host; readonly refusal: string };

export type HostChoice = ReturnType<typeof chooseHost>;

export const hostName = ({ name, port }: Host): string => `${name}:${port}`;
export const isSameHost = (one: Host, other: Host): boolean => one.name === other.name && one.port === other.port;

/**
 * The highest timeline of the cluster that was in use before (`known`) wins; among equals the host in use, then the first of
 * the URL. Refused are older timelines than the one in use, and other clusters; all, when none was in use and clusters differ.
 */
export function chooseHost(answers: readonly HostAnswer[], known: Primary | null) {
  const primaries = answers.filter((answer): answer is Primary => !('refusal' in answer));
  const refusals = new Map(primaries.map((each) => [each, refusalOf(each, primaries, known)]));
  const fit = primaries.filter((each) => refusals.get(each) === null);
  const rank = ({ timeline, host }: Primary): number =>
    (timeline ?? 0) + (known !== null && isSameHost(host, known.host) ? 0.5 : 0);
  const [primary = null] = fit.toSorted((one, other) => rank(other) - rank(one));
  return {
    /** Null when no host serves. */
    primary,
    /** Other servers that take writes, too, and must not; none while no host serves. */
    rivals: primary === null ? [] : primaries.filter((each) => !isSameServer(each, primary)),
    /** Why each of the other hosts does not serve. */
    refusals: answers.flatMap((each) => {
      const refusal = 'refusal' in each ? each.refusal : refusals.get(each);
      return refusal == null ? [] : [`${hostName(each.host)} (${refusal})`];
    }),
  };
}

/** Servers that take writes beside the one that is used, for a person. */
export function rivalry(primary: Primary, rivals: readonly Primary[]): string {
  const others = rivals.map(({ host, system, timeline }) => {
    const what = system === primary.system ? `timeline ${timeline ?? 'unknown'}` : 'another database';
    return `${hostName(host)} (${what})`;
  });
  return `${hostName(primary.host)} (timeline ${primary.timeline ?? 'unknown'}) is used, and ${others.join(' and ')} takes writes, too`;
}

function isSameServer(one: Primary, other: Primary): boolean {
  return one.system === other.system && one.startedAt === other.startedAt;
}

function refusalOf({ system, timeline }: Primary, primaries: readonly Primary[], known: Primary | null): string | null {
  const differs = (other: Primary): boolean => system !== null && other.system !== null && system !== other.system;
  if (known === null) {
    const other = primaries.find(differs);
    if (other === undefined) return null;
    return `it takes writes and holds another database than ${hostName(other.host)}: their system identifiers are ${system} and ${other.system}`;
  }
  if (differs(known)) {
    return `it holds another database than ${hostName(known.host)}, which was used until now: its system identifier is ${system}, not ${known.system}`;
  }
  if (timeline === null || known.timeline === null || timeline >= known.timeline) return null;
  return `it is an old primary: its timeline is ${timeline}, and ${hostName(known.host)} with timeline ${known.timeline} was used until now`;
}

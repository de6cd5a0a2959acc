/** How each replica calls a site: its breaker, its part of the ceiling, its access token. */
import type { SiteBody } from '../../../api/flow/site.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type Html, html, NOTHING } from '../../frame/html.ts';
import { type Shape, status } from '../../frame/icons.ts';
import type { Ask } from '../../frame/page-route.ts';
import { nothingHere, panel } from '../../parts/lists.ts';
import { since, when } from '../../parts/time.ts';

type Replica = SiteBody['replicas'][number];

const BREAKERS: Readonly<Record<Replica['breaker']['state'], readonly [kind: Shape, word: string]>> = {
  closed: ['ok', 'closed: every call may leave'],
  open: ['critical', 'open: only probes may leave'],
  recovering: ['warning', 'recovering: calls return, twice as many each second'],
};

/** The breaker that lets through least, for a line about the whole site. */
export function breakerOf(replicas: readonly Replica[]): { state: string; says: string } {
  const [open, recovering] = (['open', 'recovering'] as const).map((state) =>
    replicas.filter(({ breaker }) => breaker.state === state),
  );
  const worst = open!.length > 0 ? open! : recovering!;
  if (replicas.length === 0) return { state: 'not known', says: 'breaker: no replica has called the site' };
  if (worst.length === 0) return { state: 'closed', says: 'breaker: every call may leave' };
  const where = replicas.length === 1 ? '' : ` at ${worst.length} of ${counted(replicas.length, 'replica')}`;
  const lets = open!.length > 0 ? 'only probes may leave' : 'calls return step by step';
  return { state: worst[0]!.breaker.state, says: `breaker${where}: ${lets}` };
}

/** The access token that ends first. */
export function tokenOf(replicas: readonly Replica[], now: number): Html | string {
  const tokens = replicas.flatMap(({ token }) => (token?.expiresAt == null ? [] : [token.expiresAt])).sort();
  const [first] = tokens;
  if (first === undefined) return 'token, renewed by itself';
  return html`token, ${Date.parse(first) < now ? 'ended' : 'valid until'} ${when(first, now)}`;
}

/** All replicas, one in a row. */
export function replicasPanel({ replicas }: SiteBody, { now }: Ask): Html {
  const row = ({ replica, writtenAt, breaker, calls, token }: Replica): Html => {
    const [kind, word] = BREAKERS[breaker.state];
    const why = breaker.cause === null ? NOTHING : breaker.cause === 'throttled' ? ', asked for fewer calls' : ', the site fails';
    const { nextProbeAt } = breaker;
    const isDue = nextProbeAt !== null && Date.parse(nextProbeAt) <= now;
    const probe = nextProbeAt !== null && html`<small>next probe ${isDue ? 'is due' : when(nextProbeAt, now)}</small>`;
    return html`<tr><th scope="row" class="id">${replica}</th>
<td class="wide">${status(kind, word)}<small>for ${since(breaker.since, now)}${why}</small>${probe}</td>
<td class="num wide left" data-l="calls a second">${calls.perSecond} of ${calls.ceiling}<small>${used(calls)}</small></td>
<td class="wide" data-l="token">${tokenText(token, now)}</td><td data-l="as of">${when(writtenAt, now)}</td></tr>`;
  };
  const body =
    replicas.length === 0
      ? nothingHere('No replica has called the site yet.', 'A replica writes this within ten seconds of its first call.')
      : html`<table class="cards fits"><thead><tr><th scope="col">Replica</th><th scope="col">Breaker</th><th scope="col" class="num">Calls a second</th><th scope="col">Access token</th><th scope="col">As of</th></tr></thead><tbody>${replicas.map(row)}</tbody></table>`;
  return panel({ id: 'replicas', title: 'Replicas', note: 'how each calls the site', body });
}

function used({ perSecond, ceiling }: Replica['calls']): string {
  if (ceiling === 0) return 'owns no shard, so it makes no calls';
  const percent = (perSecond / ceiling) * 100;
  return `${percent > 0 && percent < 1 ? 'less than 1' : Math.round(percent)} % of its part of the ceiling`;
}

function tokenText(token: Replica['token'], now: number): Html | string {
  if (token === null) return 'none: credentials go with each call';
  const { fetchedAt, expiresAt, refusedAt, refusal } = token;
  const valid =
    fetchedAt === null
      ? 'not fetched yet'
      : html`fetched ${when(fetchedAt, now)}<small>${expiresAt !== null && Date.parse(expiresAt) < now ? 'ended' : 'valid until'} ${when(expiresAt, now)}</small>`;
  if (refusedAt === null) return valid;
  const isOver = fetchedAt !== null && fetchedAt > refusedAt;
  return html`${valid}<small>${isOver ? 'last refused' : status('critical', 'refused', 'fail')} ${when(refusedAt, now)}: <bdi>${refusal ?? ''}</bdi></small>`;
}

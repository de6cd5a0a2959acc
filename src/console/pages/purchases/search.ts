/** Finding purchases by what a person typed: the purchase id, at any site, or the shop's own reference. */
import type { OverviewBody } from '../../../api/health/overview.ts';
import type { PurchaseBody } from '../../../api/purchases/purchase-body.ts';
import { type ApiCalls, ApiRefusal } from '../../frame/api-calls.ts';

/** What the address filters by; empty text filters nothing. */
export interface Filter {
  readonly site: string;
  readonly status: string;
  readonly state: string;
  readonly stuck: string;
  readonly reference: string;
}

export interface Found {
  /** Those that the filter lets through. */
  readonly shown: readonly PurchaseBody[];
  /** Found, and left out by the filter. */
  readonly leftOut: readonly PurchaseBody[];
  /** Whether more purchases have this reference than were read. */
  readonly hasMore: boolean;
}

const MOST = 50;

/** Purchases with this id or reference. */
export async function findByText(
  api: ApiCalls,
  text: string,
  { filter, sites }: { filter: Filter; sites: OverviewBody['sites'] },
): Promise<Found> {
  const [byId, byReference] = await Promise.all([
    findById(api, text, sites),
    known(api.get<{ data: PurchaseBody[]; nextCursor: string | null }>('/v1/purchases', { reference: text, limit: MOST })),
  ]);
  const named = byId.map(keyOf);
  const all = [...byId, ...(byReference?.data ?? []).filter((each) => !named.includes(keyOf(each)))];
  const isShown = (each: PurchaseBody): boolean => fits(each, filter);
  return {
    shown: all.filter(isShown),
    leftOut: all.filter((each) => !isShown(each)),
    hasMore: byReference?.nextCursor != null,
  };
}

const keyOf = ({ site, purchaseId }: PurchaseBody): string => `${site}/${purchaseId}`;

async function findById(api: ApiCalls, id: string, sites: OverviewBody['sites']): Promise<PurchaseBody[]> {
  const path = `/v1/purchases/${encodeURIComponent(id)}`;
  try {
    return [await api.get<PurchaseBody>(path)];
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    if (error.code !== 'ambiguous_purchase') return missing(error);
    const each = await Promise.all(sites.map(({ site }) => known(api.get<PurchaseBody>(path, { site }))));
    return each.filter((purchase) => purchase !== null);
  }
}

/** The answer; null where the text names nothing, or cannot be an id or reference at all. */
function known<Body>(answer: Promise<Body>): Promise<Body | null> {
  return answer.catch((error: unknown) => {
    if (!(error instanceof ApiRefusal)) throw error;
    missing(error);
    return null;
  });
}

function missing(error: ApiRefusal): [] {
  if (error.status === 404 || error.status === 400) return [];
  throw error;
}

function fits({ site, status, state, stuckSince, reference }: PurchaseBody, filter: Filter): boolean {
  return (
    (filter.site === '' || filter.site === site) &&
    (filter.status === '' || filter.status === status) &&
    (filter.state === '' || filter.state === state?.name || filter.state === String(state?.value)) &&
    (filter.stuck === '' || (filter.stuck === 'true') === (stuckSince !== null)) &&
    (filter.reference === '' || filter.reference === reference)
  );
}

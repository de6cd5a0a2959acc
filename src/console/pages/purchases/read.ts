/** Reads the data of a purchase's page. */
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { ExplanationBody } from '../../../api/purchases/explanation-body.ts';
import type { PurchaseBody } from '../../../api/purchases/purchase-body.ts';
import type { PurchaseDetailsBody } from '../../../api/purchases/purchases.ts';
import type { DeliveryBody } from '../../../api/subscribers/fields.ts';
import type { Ask } from '../../frame/page-route.ts';

const MOST_DELIVERIES = 500;
const MOST_SAME = 10;

/** All that the API says of a purchase: deliveries the newest first, receivers as the overview has them, others with its reference. */
export type Known = Awaited<ReturnType<typeof read>>;

/** Reads the purchase that the address names. Throws ApiRefusal. */
export async function read({ api, params }: Ask) {
  const [id, site] = [params.id ?? '', params.site ?? ''];
  const path = `/v1/purchases/${encodeURIComponent(id)}`;
  const [purchase, why, deliveries, { subscribers: receivers }] = await Promise.all([
    api.get<PurchaseDetailsBody>(path, { site }),
    api.get<ExplanationBody>(`${path}/why`, { site }),
    api.get<{ data: DeliveryBody[] }>('/v1/deliveries', { purchase: id, site, limit: MOST_DELIVERIES }),
    api.get<OverviewBody>('/v1/overview'),
  ]);
  const { reference } = purchase;
  const same =
    reference === null
      ? []
      : (await api.get<{ data: PurchaseBody[] }>('/v1/purchases', { reference, limit: MOST_SAME + 1 })).data;
  return {
    purchase,
    why,
    deliveries: deliveries.data,
    receivers,
    same: same.filter((each) => each.purchaseId !== id || each.site !== site).slice(0, MOST_SAME),
  };
}

/** The acts on one purchase. The purchase's page shows what the API refuses. */
import { refusalIn } from '../../frame/api-calls.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn } from '../../frame/page-route.ts';
import { purchasePath } from '../../parts/purchases.ts';
import type { Done } from './done.ts';
import { purchaseView } from './one.ts';

/** An action at the purchase's address; answers the word for what was done. */
function one(
  name: string,
  act: (ask: Ask, path: string, query: string) => Promise<Done>,
  scope: 'operate' | 'register' = 'operate',
) {
  const answer = async (ask: Ask): Promise<View | GoOn> => {
    const { site = '', id = '' } = ask.params;
    const query = `?${new URLSearchParams({ site })}`;
    try {
      const done = await act(ask, `/v1/purchases/${encodeURIComponent(id)}`, query);
      return { goTo: `${purchasePath({ site, purchaseId: id })}?done=${done}` };
    } catch (error) {
      return purchaseView(
        ask,
        refusalIn(error, ({ code }) => code !== 'purchase_not_found'),
      );
    }
  };
  return action(`/purchases/:site/:id/${name}`, answer, scope);
}

export const purchaseActions = [
  one('poll', async ({ api }, path, query) => {
    await api.send('POST', `${path}/poll${query}`);
    return 'polled';
  }),
  one('stop', async ({ api }, path, query) => {
    await api.send('DELETE', `${path}${query}`);
    return 'stopped';
  }),
  one(
    'again',
    async ({ api, params: { id, site } }) => {
      await api.send('POST', '/v1/purchases', { purchaseId: id, site });
      return 'again';
    },
    'register',
  ),
  one('invoice', async ({ api }, path, query) => {
    const { invoice } = await api.send<{ invoice: 'wanted' | 'ready' }>('POST', `${path}/invoice${query}`);
    return `invoice_${invoice}`;
  }),
  one('send-again', async ({ api, form: { delivery = '' } }) => {
    const { note } = await api.send<{ note?: string }>('POST', `/v1/deliveries/${encodeURIComponent(delivery)}/retry`);
    return note === undefined ? 'sent' : 'waits';
  }),
];

/** The pages of purchases. */
import type { PageRoute } from '../../frame/page-route.ts';
import { purchaseActions } from './actions.ts';
import { forgetPages } from './forget.ts';
import { invoicePage } from './invoice.ts';
import { listPage } from './list.ts';
import { manyAction } from './many.ts';
import { onePage } from './one.ts';
import { registerPages } from './register/register.ts';

// The pages of registering come first: their addresses look like those of a purchase.
export const purchasePages: readonly PageRoute[] = [
  listPage,
  manyAction,
  ...registerPages,
  onePage,
  invoicePage,
  ...purchaseActions,
  ...forgetPages,
];

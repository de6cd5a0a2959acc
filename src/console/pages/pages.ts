/** Every page of the console. */
import type { PageRoute } from '../frame/page-route.ts';
import { channelPages } from './channels/channels.ts';
import { deliveryListPages } from './deliveries/list.ts';
import { deliveryPages } from './deliveries/one.ts';
import { aftermathPages } from './incidents/aftermath.ts';
import { incidentPages } from './incidents/incident.ts';
import { incidentListPages } from './incidents/list.ts';
import { nowPages } from './now/now.ts';
import { purchasePages } from './purchases/purchases.ts';
import { rehearsePages } from './rehearse/rehearse.ts';
import { silencePages } from './silences/silences.ts';
import { sitePages } from './sites/sites.ts';
import { subscriberActions } from './subscribers/actions.ts';
import { subscriberListPages } from './subscribers/list.ts';
import { subscriberPages } from './subscribers/one.ts';
import { actionPages } from './system/actions.ts';
import { sessionPages } from './system/sessions.ts';
import { systemPages } from './system/system.ts';
import { trendsPages } from './trends/trends.ts';

export const PAGES: readonly PageRoute[] = [
  ...nowPages,
  ...trendsPages,
  ...sitePages,
  ...incidentListPages,
  ...incidentPages,
  ...aftermathPages,
  ...subscriberListPages,
  ...subscriberPages,
  ...subscriberActions,
  ...deliveryListPages,
  ...deliveryPages,
  ...channelPages,
  ...purchasePages,
  ...silencePages,
  ...rehearsePages,
  ...actionPages,
  ...sessionPages,
  ...systemPages,
];

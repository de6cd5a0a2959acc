/** Every page of the console. */
import type { PageRoute } from '../frame/page-route.ts';
import { incidentPages } from './incidents/incident.ts';
import { incidentListPages } from './incidents/list.ts';
import { nowPages } from './now/now.ts';
import { silencePages } from './silences/silences.ts';
import { sitePages } from './sites/sites.ts';
import { actionPages } from './system/actions.ts';

export const PAGES: readonly PageRoute[] = [
  ...nowPages,
  ...sitePages,
  ...incidentListPages,
  ...incidentPages,
  ...silencePages,
  ...actionPages,
];

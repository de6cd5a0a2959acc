/** The sites that the database knows, and how replicas call each. */
export type { SiteCallsRow } from '../../postgres/polling/site-calls.ts';
export { listSites, type SiteRow, siteNames } from '../../postgres/polling/sites.ts';

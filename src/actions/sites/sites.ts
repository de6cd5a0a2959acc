/** The sites that the database knows. */
export { listSites } from '../../postgres/polling/sites.ts';

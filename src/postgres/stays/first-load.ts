/** Purchases that a site had when it was new here: their customers may have waited before any poll could show it. */
import type { Fragment, Queries } from '../connection/database.ts';

/**
 * SQL: whether the purchase `p` came with the first load of its site. It was registered before the site's first usable answer
 * (by default that of `s`), or in bulk within ten minutes of it. A purchase that is registered by itself later is a customer of
 * now.
 */
export const isOfFirstLoad = (sql: Queries, firstAnswer: Fragment = sql`s.first_success_at`): Fragment =>
  sql`(p.registered_at <= coalesce(${firstAnswer}, now()) + case when p.bulk then interval '10 minutes' else interval '0' end)`;

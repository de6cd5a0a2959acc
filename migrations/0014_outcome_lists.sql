-- serves: 9
-- Lists find the purchases behind a count of ends by it.

create index concurrently outcomes_of_hours on purchase_watch_internal.outcomes (site, hour);

-- A failure of a site ends when enough purchases are read again, not with the first answer, and when none is left to ask about.
comment on column purchase_watch.sites.failing_since is 'Since when no purchase, or hardly any, is read; null while enough are. Derived from site_reach with every report; the judge ends it when no purchase is left to ask about.';
comment on column purchase_watch.site_reach.last_read_at is 'The last answer to this replica that showed a purchase''s status while it read enough of the purchases it asked about.';
comment on column purchase_watch.site_status.failing_since is 'Since when no purchase of the site, or hardly any, can be read; null while enough can.';

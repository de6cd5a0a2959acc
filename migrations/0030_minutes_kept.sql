-- serves: 25

-- The counts of minutes say what is usual at this time of day, too.
comment on table purchase_watch_internal.activity is 'What was done in each minute, over all replicas; fifteen days are kept.';
comment on table purchase_watch_internal.delivery_activity is 'Attempts of deliveries in each minute, over all replicas; fifteen days are kept.';

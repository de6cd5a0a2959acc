-- Invoice details, fetched once.

-- What is known of a purchase's invoice stands in its row, so that a crash forgets no request and repeats no answer. No index
-- on it: whoever is to be asked for an invoice is due, and the queue finds what is due.
alter table purchase_watch.purchases
  add column invoice text check (invoice in ('wanted', 'ready', 'none'));
comment on column purchase_watch.purchases.invoice is 'wanted: asked for with the next poll. ready: announced by purchase.invoice_ready, once. none: there is none, or it was given up. Null: nobody asked for it.';

-- serves: 9
-- purchase.at_risk: announced before the session of a stuck purchase ends, once for each stay.

alter table purchase_watch.purchases add column at_risk_since timestamptz;
comment on column purchase_watch.purchases.at_risk_since is 'When it was last announced that the purchase is at risk. Before state_since: of an earlier stay.';

alter type purchase_watch_internal.poll_reason add value if not exists 'risk_moment';
comment on column purchase_watch.current_purchases.next_poll_reason is 'Why it is polled then: first, renewed (registered again), growth (the plan of its state), stuck_moment (its limit ends), risk_moment (its session is about to end), give_up (the last look), failure (the wait after failed polls), retry_after (the service asked for that wait), recheck (of a final state), invoice, requested (by hand), site_readable (its site can be read again) or repaired. Null when it is not polled any more, or when the poll was planned before reasons were recorded.';

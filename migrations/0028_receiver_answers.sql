-- serves: 25

-- What receivers answered to attempts that failed, whole: a ring of 64 for each subscriber, so that no number of attempts makes the
-- table grow. The place in the ring is delivery % 64: a later failure of the same delivery replaces the earlier one.
create table purchase_watch_internal.receiver_answers (
  delivery bigint not null unique references purchase_watch_internal.deliveries on delete cascade,
  at timestamptz not null,
  subscriber integer not null,
  number integer not null check (number > 0),
  slot smallint not null check (slot between 0 and 63),
  answer text not null check (octet_length(answer) between 1 and 8192),
  primary key (subscriber, slot)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500);
comment on table purchase_watch_internal.receiver_answers is 'The whole answers to attempts that failed lately: at most 64 for each subscriber, and of a delivery the last. The excerpts of all attempts are in attempts.';
comment on column purchase_watch_internal.receiver_answers.at is 'When the attempt ended.';
comment on column purchase_watch_internal.receiver_answers.number is 'Which attempt of the delivery, from 1.';
comment on column purchase_watch_internal.receiver_answers.slot is 'The place in the subscriber''s ring: delivery % 64.';
comment on column purchase_watch_internal.receiver_answers.answer is 'Status line, headers and body, without secrets, cookies and credentials; 8 192 bytes at most.';

comment on column purchase_watch.open_incidents.count is 'How many customers are overdue now; of a subscriber, deliveries that wait or were given up, counted to 100 000; of replicas, those that cannot do their work.';

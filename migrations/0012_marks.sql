-- serves: 9
-- Marks: moments that people and programs name, such as deploys.

create table purchase_watch_internal.marks (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  text text not null check (length(text) between 1 and 200),
  site text
);
create index marks_at on purchase_watch_internal.marks (at);
comment on table purchase_watch_internal.marks is 'Moments that people and programs named, such as deploys. Shown beside trends and incidents.';
comment on column purchase_watch_internal.marks.at is 'When it happened, as its author says.';
comment on column purchase_watch_internal.marks.text is 'A few words of its author.';
comment on column purchase_watch_internal.marks.site is 'The site that it is about; null: all sites.';

-- A replica that is stopping says so, and the others share its shards out among themselves while its last work ends.

alter table purchase_watch.replicas add column leaving boolean not null default false;
comment on column purchase_watch.replicas.leaving is 'It is stopping: it takes no shards, and gives each back as soon as nothing is under way on it.';

-- What is configured is what any living replica names: each replica writes beside its row which sites and subscribers its settings
-- name, and a start takes nothing from the settings of other replicas.

alter table purchase_watch_internal.replicas add column named jsonb;
comment on column purchase_watch_internal.replicas.named is 'What the replica''s settings name: sites, each with its former names, and subscribers with their filters and the hash of their address. Holds no secret. Null: a daemon of an older version, which may name anything.';

comment on column purchase_watch_internal.replicas.settings_digests is 'The version of the replica, and for each of its settings by name, secrets included, the first two bytes of a SHA-256 digest: enough to notice other settings, too little to confirm a guess of a secret. Null: not known.';
comment on column purchase_watch_internal.replicas.leaving is 'The replica is stopping, reaches no site, or another one names all that it names and more: it takes no shards, and releases each as soon as no work is under way on it.';

alter table purchase_watch_internal.sites add column unnamed_since timestamptz, add column renamed_to text references purchase_watch_internal.sites;
comment on column purchase_watch_internal.sites.unnamed_since is 'Since when no living replica names the site, so that its purchases are not polled; null while one does. After ten minutes the site is not configured any more.';
comment on column purchase_watch_internal.sites.renamed_to is 'The site of which this name is a former one, as a living replica''s settings say. While no replica names this site itself, its purchases move there, and registrations that name it are taken for that site.';
comment on column purchase_watch_internal.sites.configured is 'Whether a living replica names the site, or did within the last ten minutes. Purchases of other sites keep their rows and are not polled.';

alter table purchase_watch_internal.subscribers add column unnamed_since timestamptz;
comment on column purchase_watch_internal.subscribers.unnamed_since is 'Since when no living replica names the subscriber of the settings, so that nothing is sent to it; null while one does. After ten minutes the subscriber is not configured any more.';

comment on function purchase_watch_internal.default_site is 'The site of a registration that names none: the one named default, the only one, or the one that was named default formerly; null when none is there.';
-- A site that no replica names is not polled, so a registration without a site does not go there while another site is named.
create or replace function purchase_watch_internal.default_site() returns text language sql stable as $$
  select case when bool_or(name = 'default') then 'default' when count(*) = 1 then min(name)
    else (select s.renamed_to from purchase_watch_internal.sites s where s.name = 'default' and s.unnamed_since is not null) end
  from purchase_watch_internal.sites where configured and (unnamed_since is null
    or not exists (select from purchase_watch_internal.sites where configured and unnamed_since is null))
$$;

create function purchase_watch_internal.present_site(site text) returns text language sql stable as $$
  select coalesce((
    select s.renamed_to from purchase_watch_internal.sites s
    where s.name = present_site.site and s.unnamed_since is not null and s.renamed_to is not null), present_site.site)
$$;
comment on function purchase_watch_internal.present_site is 'The site that a name means: another one for a former name of that site, otherwise the name itself.';

create function purchase_watch_internal.site_names() returns text language sql stable as $$
  select coalesce(string_agg(name, ', ' order by name), 'none yet; start the daemon once')
  from purchase_watch_internal.sites where configured and unnamed_since is null
$$;
comment on function purchase_watch_internal.site_names is 'The names of the sites that a living replica names, for people.';

create or replace function purchase_watch_internal.prepare_purchase() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  known text;
  size integer;
begin
  if new.purchase_id is null or btrim(new.purchase_id) = '' then
    raise exception using errcode = 'check_violation', message = 'purchase_id is empty',
      hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
  elsif length(new.purchase_id) > 200 then
    raise exception using errcode = 'check_violation', message = format('purchase_id has %s characters; at most 200 are accepted', length(new.purchase_id)),
      hint = 'Insert the Purchase ID alone, without a URL or other text around it.';
  elsif new.purchase_id <> btrim(new.purchase_id) or new.purchase_id ~ '[[:cntrl:]]' then
    raise exception using errcode = 'check_violation', message = 'purchase_id begins or ends with a space, or holds a control character',
      hint = 'Insert the Purchase ID alone; a line break or tab from a file often sticks to it.';
  end if;
  if new.reference is not null and length(new.reference) not between 1 and 200 then
    raise exception using errcode = 'check_violation',
      message = case new.reference when '' then 'reference is empty' else format('reference has %s characters; at most 200 are accepted', length(new.reference)) end,
      hint = 'Insert your own name for the purchase, such as an order number, or leave the column out (null).';
  end if;
  if new.metadata is not null then
    if jsonb_typeof(new.metadata) <> 'object' then
      raise exception using errcode = 'check_violation', message = format('metadata is a JSON %s; it must be an object', jsonb_typeof(new.metadata)),
        hint = 'Insert an object such as {"cart": 7}, or leave the column out.';
    end if;
    size := length(new.metadata::text);
    if size > 8192 then
      raise exception using errcode = 'check_violation', message = format('metadata has %s characters as text; at most 8192 are accepted', size),
        hint = 'Keep large things in a system of your own, and put their key into metadata.';
    end if;
    -- An object or a list within 64 others; so many brackets alone are longer than this.
    if size > 128 and jsonb_path_exists(new.metadata, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")') then
      raise exception using errcode = 'check_violation', message = 'metadata has more than 64 levels of lists and objects',
        hint = 'Insert an object with fewer levels.';
    end if;
  end if;
  new.site := purchase_watch_internal.present_site(new.site);
  if new.site is null then
    new.site := purchase_watch_internal.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', purchase_watch_internal.site_names());
    end if;
  elsif not exists (select from purchase_watch_internal.sites where name = new.site and configured) then
    -- Common mistakes: other case, spaces around the name, a name cut short or with something behind it.
    select min(name) into known from purchase_watch_internal.sites
    where configured and (starts_with(name, lower(btrim(new.site))) or starts_with(lower(btrim(new.site)), name)) and btrim(new.site) <> '' having count(*) = 1;
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = coalesce('Did you mean ' || quote_literal(known) || '? ', '')
        || format('Configured sites: %s.', purchase_watch_internal.site_names());
  end if;
  new.registered_by := coalesce(new.registered_by, 'sql:' || session_user);
  -- Both parts are length-safe: a site name never holds a slash.
  new.shard := ((hashtextextended(new.site || '/' || new.purchase_id, 0) % 64) + 64) % 64;
  new.next_poll_at := coalesce(new.next_poll_at, new.registered_at);
  new.due_slot := purchase_watch_internal.due_slot(new.next_poll_at);
  return new;
end $$;
create or replace function purchase_watch_internal.watch_again(purchase_ids text[], sites text[]) returns table (purchase_id text, site text) language sql
security definer set search_path = pg_catalog, pg_temp as $$
  with renewed as (
    update purchase_watch.purchases p set status = 'watching', watched_since = now(), next_poll_at = now(), next_poll_reason = 'renewed', ended_at = null,
      due_slot = purchase_watch_internal.due_slot(now()), revision = p.revision + 1, failures = 0, unknowns = 0
    from unnest(purchase_ids, sites) as r (purchase_id, site)
    where p.site = coalesce(purchase_watch_internal.present_site(r.site), purchase_watch_internal.default_site()) and p.purchase_id = r.purchase_id and p.status in ('stopped', 'expired')
    returning p.id, p.shard, p.purchase_id, p.site),
  nudged as (insert into purchase_watch_internal.nudges (purchase, shard) select id, shard from renewed),
  woken as materialized (select pg_notify('purchase_watch_wake', 'purchases') from renewed limit 1)
  select r.purchase_id, r.site from renewed r, woken
$$;

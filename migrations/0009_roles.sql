-- Roles for other programs: rights on the interface, and none on what the daemon keeps for itself.

-- Runs at the end of every migration, for a new function may be called by everybody until that is taken back. The views are
-- found, not listed: whatever view a later migration adds is for the reader, with the functions that it calls. The reader
-- may execute those functions through the views, and has no right on the schema in which they are.
create function purchase_watch.set_up_roles() returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  registrar constant text := 'purchase_watch_registrar';
  reader constant text := 'purchase_watch_reader';
  role text;
  right_to_give text;
  missing text[] := '{}';
  shut text[] := '{}';
  advice text;
begin
  if not pg_has_role((select relowner from pg_class where oid = 'purchase_watch.purchases'::regclass), 'usage') then
    raise exception using errcode = 'insufficient_privilege', message = 'only the owner of the tables can give rights on them',
      hint = format('Call it as %I.', (select relowner::regrole::text from pg_class where oid = 'purchase_watch.purchases'::regclass));
  end if;
  -- The lock of migrations: rights are given by one session at a time.
  perform pg_advisory_xact_lock(7236019444);
  revoke all on all functions in schema purchase_watch, purchase_watch_internal from public;
  -- Postgres calls it for the indexes of purchases as the role that inserts, whichever that is.
  grant execute on function purchase_watch_internal.search_key to public;
  foreach role in array array[registrar, reader] loop
    -- Roles belong to the whole cluster: another database may have made this one, or be making it now.
    if to_regrole(role) is null then
      begin
        execute format('create role %I nologin', role);
        execute format('comment on role %I is %L', role, case role
          when registrar then 'May register purchases with purchase-watch, read its own registrations, and nothing else.'
          else 'May read the views of purchase-watch, and nothing else.' end);
      exception when duplicate_object or unique_violation or insufficient_privilege or internal_error then null;
      end;
    end if;
    if to_regrole(role) is null then
      missing := missing || role;
      continue;
    end if;
    execute format('revoke all on all tables in schema purchase_watch, purchase_watch_internal from %I', role);
    execute format('revoke all on all functions in schema purchase_watch, purchase_watch_internal from %I', role);
    begin
      execute format('grant usage on schema purchase_watch to %I', role);
      execute format('revoke all on schema purchase_watch_internal from %I', role);
    exception when insufficient_privilege then null;
    end;
    if not has_schema_privilege(role, 'purchase_watch', 'usage') then shut := shut || role; end if;
  end loop;
  if registrar <> all (missing) then
    grant insert (purchase_id, site, reference, metadata) on purchase_watch.purchases to purchase_watch_registrar;
    grant select, insert (purchase_id, site, reference, metadata) on purchase_watch.registrations to purchase_watch_registrar;
    grant execute on function purchase_watch.watch to purchase_watch_registrar;
  end if;
  if reader <> all (missing) then
    for right_to_give in
      select format('select on purchase_watch.%I', relname) from pg_class
      where relnamespace = 'purchase_watch'::regnamespace and relkind = 'v'
      union select format('execute on function %s', f.oid::regprocedure)
      from pg_class v join pg_rewrite r on r.ev_class = v.oid join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
      join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
      where v.relnamespace = 'purchase_watch'::regnamespace and v.relkind = 'v'
        and f.pronamespace in ('purchase_watch'::regnamespace, 'purchase_watch_internal'::regnamespace)
    loop
      execute format('grant %s to purchase_watch_reader', right_to_give);
    end loop;
  end if;
  advice := nullif(concat_ws(' ',
    case when missing <> '{}' then format('An administrator has to make the roles first: %s; then call purchase_watch.set_up_roles() again.',
      (select string_agg(format('create role %I nologin', name), '; ') from unnest(missing) as name)) end,
    case when shut <> '{}' then format('The owner of the schema has to open it: grant usage on schema purchase_watch to %s.',
      array_to_string(shut, ', ')) end), '');
  if advice is not null then raise notice '%', advice; end if;
  return advice;
end $$;

comment on function purchase_watch.set_up_roles is 'Makes the roles purchase_watch_registrar and purchase_watch_reader where they are missing, and gives each its rights and no others. Answers null, or what an administrator has to do. Every migration ends with it.';

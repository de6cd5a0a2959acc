-- Values that are allowed and that nobody expects must break neither a view nor a page.

-- Compares before it adds: State may be any integer.
create or replace function purchase_watch.state_name(value integer) returns text language sql immutable parallel safe strict as $$
  select case when value between 0 and 14 then (array['New', 'BeingProcessed', 'Completed', 'Error', 'WaitingForIdentityProvider',
    'SessionTimedOut', 'WaitingForCardPayments', 'WaitingForEidApp', 'Cancelled', 'WaitingForFinnishDirectPayment',
    'WaitingCreditApproval', 'CreditNotApproved', 'WaitingForMobilePayment', 'PaymentHandledByMerchant',
    'ElectronicIdValidationRequired'])[value + 1] else format('Unknown(%s)', value) end
$$;

-- As before, and refuses metadata that is nested deeper than the API takes.
create or replace function purchase_watch.prepare_purchase() returns trigger language plpgsql
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
  if new.site is null then
    new.site := purchase_watch.default_site();
    if new.site is null then
      raise exception using errcode = 'not_null_violation', message = 'site is missing, and there is no site named default',
        hint = format('Name one of the configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
    end if;
  elsif not exists (select from purchase_watch.sites where name = new.site and configured) then
    -- Mistakes that are no riddle: other case, spaces around it, a name cut short or with something behind it.
    select min(name) into known from purchase_watch.sites
    where configured and (starts_with(name, lower(btrim(new.site))) or starts_with(lower(btrim(new.site)), name)) and btrim(new.site) <> '' having count(*) = 1;
    raise exception using errcode = 'foreign_key_violation', message = format('site %L is not configured', new.site),
      hint = coalesce('Did you mean ' || quote_literal(known) || '? ', '')
        || format('Configured sites: %s.', coalesce((select string_agg(name, ', ' order by name) from purchase_watch.sites where configured), 'none yet; start the daemon once'));
  end if;
  new.registered_by := coalesce(new.registered_by, 'sql:' || session_user);
  -- Both parts are length-safe: a site name never holds a slash.
  new.shard := ((hashtextextended(new.site || '/' || new.purchase_id, 0) % 64) + 64) % 64;
  new.next_poll_at := coalesce(new.next_poll_at, new.registered_at);
  new.due_slot := purchase_watch.due_slot(new.next_poll_at);
  return new;
end $$;

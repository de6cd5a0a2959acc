-- No address can hold the Purchase IDs . and ..: browsers and HTTP clients read them as steps of the path, so such a purchase could be
-- neither shown nor erased over HTTP. A trigger, because a constraint would also refuse each change of a row that is there already.

create function purchase_watch_internal.refuse_dot_id() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'check_violation', message = format('purchase_id is %L, which no web address can hold', new.purchase_id),
    hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
end $$;
comment on function purchase_watch_internal.refuse_dot_id is 'Trigger: refuses the Purchase IDs . and .., which no web address can hold.';
create trigger refuse_dot_id before insert on purchase_watch.purchases for each row when (new.purchase_id in ('.', '..'))
execute function purchase_watch_internal.refuse_dot_id();

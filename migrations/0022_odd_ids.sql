-- The same texts as newIdProblem of the daemon refuses. A trigger, because a constraint would also refuse each change of a row that is there already.

create function purchase_watch_internal.id_problem(id text) returns text language sql immutable parallel safe
set search_path = pg_catalog, pg_temp as $$
  select case
    when id in ('.', '..') then 'is . or .., which no web address can hold'
    when id ~ '[\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
      then 'holds a character that cannot be seen'
    when id ~* '^purchase[ _-]?id$' then 'is the title of a column'
    when id ~ '^["''\u2018-\u201f\u00ab\u00bb\u2039\u203a]|["''\u2018-\u201f\u00ab\u00bb\u2039\u203a]$' then 'begins or ends with a quotation mark'
    when id ~ '[,;|]' then 'holds a separator of columns (, ; or |)'
    when id ~* '^-?[0-9]([.,][0-9]+)?E\+[0-9]+$' then 'is a number that a spreadsheet rounded'
    when id ~ '^#([A-Z\u00c0-\u00de\u0400-\u042f0-9/]+[!?]|[A-Z\u0400-\u042f]+/[A-Z\u0400-\u042f]+|NV|#+)$' then 'is what a spreadsheet shows in the place of a value'
  end
$$;
comment on function purchase_watch_internal.id_problem is 'Why this text is no Purchase ID that a checkout service gives; null when it may be one.';

create function purchase_watch_internal.refuse_odd_id() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  problem constant text := purchase_watch_internal.id_problem(new.purchase_id);
begin
  if problem is not null then
    raise exception using errcode = 'check_violation', message = format('purchase_id %L %s', new.purchase_id, problem),
      hint = 'Insert the Purchase ID that the checkout service gave when the purchase was negotiated.';
  end if;
  return new;
end $$;
comment on function purchase_watch_internal.refuse_odd_id is 'Trigger: refuses texts that are no Purchase ID, as the other doors do.';
-- Hexadecimal ids, which most services give, need no look.
create trigger refuse_odd_id before insert on purchase_watch.purchases for each row when (new.purchase_id !~ '^[0-9a-f-]+$')
execute function purchase_watch_internal.refuse_odd_id();

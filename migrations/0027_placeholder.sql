-- serves: 25
-- needed: no

-- Keeps the number free for the list of purchases, whose file replaces this one.
select 1;

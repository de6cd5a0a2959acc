-- serves: 25
-- needed: no

-- Lists of purchases by time, by the beginning of a name, and by amount. No column of these indexes changes with a poll that
-- finds nothing new. The longest waiting purchases are found by purchases_oldest and purchases_stuck.
create index concurrently purchases_registered on purchase_watch.purchases (site, registered_at, id);

-- A name is found by its beginning, in any case and in a database of any collation: of "C", an index compares bytes, and lower()
-- leaves letters beyond ASCII to the list here, which no update of the system changes. src/postgres/purchases/search-key.ts has the same.
create index concurrently purchases_id_key on purchase_watch.purchases
  ((case when octet_length(purchase_id) = length(purchase_id) then lower(left(purchase_id, 200) collate "C")
    else translate(lower(left(purchase_id, 200) collate "C"), 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯẞ',
      'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяß') end));
create index concurrently purchases_reference_key on purchase_watch.purchases
  ((case when octet_length(reference) = length(reference) then lower(left(reference, 200) collate "C")
    else translate(lower(left(reference, 200) collate "C"), 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯẞ',
      'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяß') end))
  where reference is not null;
create index concurrently purchase_details_order_key on purchase_watch_internal.purchase_details
  ((case when octet_length(purchase_watch_internal.stored_text(fields, 'OrderReference')) = length(purchase_watch_internal.stored_text(fields, 'OrderReference')) then lower(left(purchase_watch_internal.stored_text(fields, 'OrderReference'), 200) collate "C")
    else translate(lower(left(purchase_watch_internal.stored_text(fields, 'OrderReference'), 200) collate "C"), 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯẞ',
      'àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяß') end));

create index concurrently purchase_details_amount on purchase_watch_internal.purchase_details
  ((left(nullif(btrim(purchase_watch_internal.stored_text(fields, 'CurrencyCode')), ''), 20)), (-purchase_watch_internal.stored_number(fields, 'Price')), purchase)
  where purchase_watch_internal.stored_number(fields, 'Price') is not null;

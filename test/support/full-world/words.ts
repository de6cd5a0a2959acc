/** Names and texts as long as the product takes them. */

/** 63 characters without a place to break the line. */
export const LONG_SITE = 'webshop_of_the_northern_countries_for_furniture_lamps_and_tools';
export const SITES = ['se', 'fi', LONG_SITE] as const;
/** The subscriber that takes nothing, and others in trouble. */
export const PAUSED = 'books_of_the_northern_countries_and_all_of_their_warehouses_too';
export const OFF = 'switched-off';
/** 300 characters without a space. */
export const UNBROKEN = 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft'
  .repeat(4)
  .slice(0, 300);
/** A name of a person, as long as one may be. */
export const LONG_PERSON = `Wolfeschlegelsteinhausenbergerdorff${UNBROKEN}`.slice(0, 200);
/** What a receiver answered: 8 kB, as its framework prints an error. */
export const LONG_ANSWER =
  `<html><head><title>500</title></head><body>Traceback (most recent call last): ${UNBROKEN} ${'File "/srv/app/lib/python3.13/site-packages/handler.py", line 88, in dispatch; '.repeat(110)}`.slice(
    0,
    8_000,
  );

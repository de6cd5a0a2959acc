/** The service's date-times: local to a zone, without an offset, seven fractional digits. */

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(timeZone);
  if (formatter === undefined) {
    // The Swedish form of a date is ISO 8601 with a space in the middle, in every version of the locale data.
    formatter = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
    formatters.set(timeZone, formatter);
  }
  return formatter;
}

/** An instant as the service writes it. `finest` are the four digits below the millisecond, which an instant does not have. */
export function localTime(instant: number, timeZone: string, finest: string): string {
  const fraction = String(Math.floor(instant) % 1_000).padStart(3, '0');
  return `${formatterOf(timeZone).format(instant).replace(' ', 'T')}.${fraction}${finest}`;
}

/** Midnight at the start of the local day that is so many days after the instant's. */
export function localDay(instant: number, timeZone: string, daysLater: number): string {
  const today = formatterOf(timeZone).format(instant).slice(0, 10);
  const day = new Date(Date.parse(`${today}T00:00:00Z`) + daysLater * 86_400_000);
  return `${day.toISOString().slice(0, 10)}T00:00:00.0000000`;
}

/** Times that people give in the zone of a page. */

/** `2026-11-24T00:00` of a zone as an instant of UTC for the API; any other text as it is. */
export function instantIn(text: string, zone: string): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return text;
  const wanted = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted)) return text;
  // The second look is for a time near a change of the clocks: by then the offset is that of the moment itself.
  const near = wanted - offsetAt(wanted, zone);
  return new Date(wanted - offsetAt(near, zone)).toISOString();
}

function offsetAt(at: number, timeZone: string): number {
  const shown = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium', timeZone }).format(at);
  return Date.parse(`${shown.replace(' ', 'T')}Z`) - Math.floor(at / 1_000) * 1_000;
}

/** The zone of a page's times: its name at the top, with the menu that chooses another one. */
import { type Html, html } from './html.ts';

/** A site as far as its clock goes. */
export interface SiteZone {
  readonly name: string;
  readonly timeZone: string;
}

/** The zone of pages for which none was chosen: that of the sites where all have one, UTC otherwise. */
export function usualZone(sites: readonly SiteZone[]): string {
  const [first, ...others] = new Set(sites.map(({ timeZone }) => timeZone));
  return first === undefined || others.length > 0 ? 'UTC' : first;
}

/** The menu. `back` is the page's address; the browser's own zone is added by the script, which alone knows it. */
export function zoneMenu(zone: string, { sites, base, back }: { sites: readonly SiteZone[]; base: string; back: string }): Html {
  const names = (of: string): string => {
    const at = sites.filter(({ timeZone }) => timeZone === of).map(({ name }) => name);
    return at.length > 3 ? `${at.length} sites` : at.join(', ');
  };
  const others = new Set([...sites.map(({ timeZone }) => timeZone), 'UTC', zone]);
  const choice = (each: string): Html =>
    html`<button name="zone" value="${each}" aria-pressed="${String(each === zone)}">${each} <small>${names(each)}</small></button>`;
  return html`<details class="zone" id="zone"><summary>Times in <b>${zone}</b></summary><form method="post" action="${base}/zone"><input type="hidden" name="back" value="${back}"><fieldset><legend>Times of all pages in this browser</legend>${[...others].map(choice)}<button name="zone" value="" aria-pressed="false" data-own-zone hidden></button></fieldset></form></details>`;
}

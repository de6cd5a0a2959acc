/** The frame of every page: head, rail with the navigation, the line with the live state; the page's own content lies within. */
import type { Caller } from '../../api/http/caller.ts';
import type { Instant } from '../../domain/values/time.ts';
import { assetAddresses } from './assets.ts';
import type { Badges } from './badges.ts';
import { type Html, html } from './html.ts';
import { icon, type Shape, SPRITE } from './icons.ts';
import { keysDialog } from './keys.ts';
import { PLACES, type Place } from './place.ts';
import { signedOut } from './signed-out.ts';
import { type SiteZone, zoneMenu } from './zones.ts';

/** The content of a page. */
export interface View {
  /** Of the tab, without the product's name. */
  readonly title: string;
  /** Marked in the navigation; null: none of it. */
  readonly place: Place | null;
  /** The way to the page, in words and links. */
  readonly crumb: Html | string;
  readonly body: Html;
  readonly status?: number;
  /** Whether the page is kept up to date while it is open; a page with a form that a person fills in is not. */
  readonly isLive?: boolean;
}

export type Theme = 'system' | 'light' | 'dark';

/** Around the view. */
export interface Frame {
  /** Path below which the console lies, without the last slash; empty at the root. */
  readonly base: string;
  /** The address of this page, with its query. */
  readonly address: string;
  readonly theme: Theme;
  readonly caller: Caller;
  readonly badges: Badges;
  readonly now: Instant;
  /** The moment as clock time, and the zone of all clock times of the page. */
  readonly at: string;
  readonly zone: string;
  /** Whose zones the person may choose. */
  readonly sites: readonly SiteZone[];
}

/** A whole document. `content` is everything below the skip link. */
export function documentOf({ title, base, theme }: { title: string; base: string; theme: Theme }, content: Html): Html {
  return html`<!doctype html>
<html lang="en"${theme !== 'system' && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · purchase-watch</title>
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content='{"includeIndicatorCSS":false,"history":false,"noSwap":[204,304,401,"5xx"],"defaultTimeout":15000}'>
<link rel="icon" href="${base}${assetAddresses.icon}">
<link rel="stylesheet" href="${base}${assetAddresses.styles}">
<script src="${base}${assetAddresses.htmx}" defer fetchpriority="low"></script>
<script src="${base}${assetAddresses.script}" defer fetchpriority="low"></script>
</head>
<body data-base="${base}">
${SPRITE}
<a class="skip" href="#main">To the content</a>
${content}
</body>
</html>
`;
}

export function pageOf(view: View, frame: Frame): Html {
  const { base, theme } = frame;
  return documentOf(
    { title: view.title, base, theme },
    html`<div class="app">${rail(view, frame)}
${main(view, frame)}
</div>
<p class="vh" role="status" aria-live="polite" id="said"></p>
${keysDialog()}
${signedOut(frame.caller, frame)}`,
  );
}

/** A page for a visitor who is not signed in: without navigation. */
export function barePage({ title, body }: View, { base, theme }: Pick<Frame, 'base' | 'theme'>): Html {
  return documentOf({ title, base, theme }, html`<div class="door"><main id="main">${body}</main></div>`);
}

function main({ crumb, body, isLive = true }: View, { base, address, now, at, zone, sites }: Frame): Html {
  const live = html`<div class="live" id="live"><span class="beat" aria-hidden="true"></span><span data-live-text>As it was at ${at}</span><button class="btn plain" type="button" data-pause title="Key: p" hidden>Pause</button></div>`;
  const attributes =
    isLive &&
    html` hx-get="${address}" hx-trigger="pw:refresh" hx-select="#main" hx-select-oob="#places:outerMorph,#who:outerMorph" hx-swap="outerMorph" hx-target="this" data-live="yes"`;
  return html`<main class="main" id="main" data-at="${at}" data-now="${String(now)}" data-zone="${zone}"${attributes}><div class="bar"><span class="crumb">${crumb}</span>${zoneMenu(zone, { sites, base, back: address })}${isLive && live}</div>
${body}</main>`;
}

function rail({ place }: View, { base, address, theme, caller, badges }: Frame): Html {
  const entry = ([key, [word, path]]: [string, readonly [string, string]]): Html => {
    const badge = badges[key as Place];
    return html`<li><a href="${base}${path}"${key === place && html` aria-current="page"`}>${word}${badge !== undefined && mark(badge)}</a></li>`;
  };
  return html`<header class="rail">
<div class="name"><a class="brand" href="${base}/">${icon('mark', 'logo')}purchase-watch</a></div>
<form class="find" role="search" action="${base}/purchases"><label class="vh" for="find">Find a purchase by id or order reference</label><input id="find" name="q" type="search" placeholder="Id or order" autocomplete="off" maxlength="200"><kbd aria-hidden="true">/</kbd></form>
<button class="btn to-menu" type="button" popovertarget="menu">Menu</button>
<nav class="menu" id="menu" popover aria-label="Pages"><div class="places" id="places">${Object.entries(PLACES).map(([name, places]) => html`<div><h2>${name}</h2><ul>${Object.entries(places).map(entry)}</ul></div>`)}</div>
<div class="foot">${themes(theme, { base, address })}${who(caller, { base, address })}<p><a href="${base}/docs/">Documentation</a></p></div></nav>
</header>`;
}

function mark({ shape, count, says }: { shape: Shape; count: number; says: string }): Html {
  return html`<span class="n ${shape}" title="${says}">${icon(shape)}${count}<span class="vh"> ${says}</span></span>`;
}

function themes(theme: Theme, { base, address }: { base: string; address: string }): Html {
  const button = (value: Theme, word: string) =>
    html`<button name="theme" value="${value}" aria-pressed="${String(value === theme)}">${word}</button>`;
  return html`<form method="post" action="${base}/theme"><input type="hidden" name="back" value="${address}"><fieldset class="seg"><legend class="vh">Colours</legend>${button('system', 'System')}${button('light', 'Light')}${button('dark', 'Dark')}</fieldset></form>`;
}

function who({ key, name = null, scopes }: Caller, { base, address }: { base: string; address: string }): Html {
  const keysLink = html`<a href="#keys" data-keys>Keys <kbd>?</kbd></a>`;
  const role = scopes.includes('operate') ? 'operator' : scopes.includes('register') ? 'may read and register' : 'may only read';
  const way = key === null ? 'Signed in by a link of this machine' : html`Signed in with key <b>${key}</b>`;
  return html`<div id="who"><form method="post" action="${base}/sign-out"><p>${way}, ${role}<br><button class="btn plain" name="from" value="here">Sign out</button> <button class="btn plain" name="from" value="everywhere">everywhere</button> · ${keysLink}</p></form>
<details class="name-of" id="name-of"><summary>${name === null ? 'Add your name' : html`You are <b><bdi>${name}</bdi></b>`}</summary><form method="post" action="${base}/name"><input type="hidden" name="back" value="${address}"><label>Your name <input name="person" value="${name ?? ''}" maxlength="200" autocomplete="name"></label><button class="btn">Keep it</button></form></details></div>`;
}

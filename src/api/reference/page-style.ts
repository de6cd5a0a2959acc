/** The page's style: system fonts, both colour schemes, one column where there is no room for two. */
export const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #343a43); --soft: light-dark(#f5f6f8, #1b1f25); --back: light-dark(#fff, #121519);
  --text: light-dark(#1b2128, #e4e8ed); --quiet: light-dark(#56606c, #9aa5b1); --link: light-dark(#0b57b0, #7db4f5);
  --get: light-dark(#0b57b0, #7db4f5); --post: light-dark(#12693a, #6fce97); --change: light-dark(#8a5200, #e5b264); --delete: light-dark(#ab1f2d, #f58e97); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 18rem minmax(0, 1fr); }
a { color: var(--link); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 2px; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--back); }
.skip:focus { left: 0; z-index: 1; }
code, pre { font: .875em/1.5 ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace; }
p code, td code, li code, dd code { background: var(--soft); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
nav { border-right: 1px solid var(--line); background: var(--soft); padding: 1.25rem; position: sticky; top: 0; height: 100vh; overflow-y: auto; font-size: .9rem; }
nav b { display: block; font-size: 1.1rem; }
nav h2 { font-size: .75rem; letter-spacing: .06em; text-transform: uppercase; color: var(--quiet); margin: 1.25rem 0 .25rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: .5rem; padding: .2rem 0; text-decoration: none; color: inherit; align-items: baseline; }
nav li a:hover { text-decoration: underline; }
main { padding: 1.5rem clamp(1rem, 4vw, 3.5rem) 6rem; max-width: 66rem; }
h1 { font-size: 1.75rem; margin: 0 0 .5rem; }
main > section > h2 { font-size: 1.4rem; margin: 3rem 0 0; padding-bottom: .3rem; border-bottom: 2px solid var(--line); }
article { padding: 1.75rem 0 1.5rem; border-bottom: 1px solid var(--line); }
article:target { box-shadow: -.75rem 0 0 var(--back), -1rem 0 0 var(--link); }
article h3 { margin: 0; font-size: 1.15rem; }
article h3 a { color: inherit; text-decoration: none; }
article h3 a:hover { text-decoration: underline; }
h4 { margin: 1.25rem 0 .25rem; font-size: .95rem; }
.call { margin: .35rem 0 .6rem; overflow-wrap: anywhere; }
.call code { font-size: .95rem; }
.method { font: 700 .72rem/1 ui-monospace, monospace; text-transform: uppercase; min-width: 3.4em; display: inline-block; color: var(--get); }
.post { color: var(--post); } .put, .patch { color: var(--change); } .delete { color: var(--delete); }
.quiet { color: var(--quiet); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .75rem .4rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-weight: 600; font-size: .8rem; }
tbody th { font-weight: 400; white-space: nowrap; }
td p { margin: 0; }
.must { color: var(--delete); font-size: .8rem; }
.status { font-weight: 700; }
details > summary { cursor: pointer; color: var(--link); padding: .2rem 0; }
@media (max-width: 56rem) {
  body { display: block; }
  nav { position: static; height: auto; max-height: 45vh; border-right: 0; border-bottom: 1px solid var(--line); padding: 1rem; }
  tbody tr { display: block; border-top: 1px solid var(--line); padding: .45rem 0; }
  thead { position: absolute; left: -100vw; }
  tbody th, tbody td { display: block; border: 0; padding: .05rem 0; white-space: normal; overflow-wrap: anywhere; }
  .answers th, .answers td:nth-child(2) { display: inline; margin-right: .6rem; }
}
@media print { nav { display: none; } body { display: block; } }
`;

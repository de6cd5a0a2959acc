/*
 * Lists that are looked at hold still: children of [data-still] keep their place through refreshes. Their texts change by the ids of
 * the rows, except in a row that is pointed at, has the focus or is ticked. New rows, and the order, wait until a person asks; in a list
 * that says "looked-at", whose news must not wait, only while one of its rows is pointed at or has the focus.
 */
(() => {
  const main = () => document.getElementById('main');
  const say = (text) => {
    document.getElementById('said').textContent = text;
  };
  const listsOf = (part) => [...part.querySelectorAll('[data-still]')].filter((list) => [...list.children].every(({ id }) => id));
  const isBrief = (list) => list.dataset.still === 'looked-at';
  const isLookedAt = (row) => row.matches(':hover, :focus-within');
  const isHeld = (row) => isLookedAt(row) || row.querySelector('[type=checkbox]:checked') !== null;
  /** Without times, which change by themselves. */
  const textOf = (row) => {
    const copy = row.cloneNode(true);
    for (const time of copy.querySelectorAll('time')) time.remove();
    return copy.textContent;
  };

  /** The line above a list: room for the offer is kept from the start, so that the offer moves no row. */
  const barOf = (list) => {
    const table = list.closest('table') ?? list;
    const place = table.closest('.scroll') ?? table;
    if (place.previousElementSibling?.matches('.new-rows')) return place.previousElementSibling;
    const bar = document.createElement('div');
    bar.className = 'new-rows';
    bar.id = `new-rows-${listsOf(list.closest('main')).indexOf(list)}`;
    bar.innerHTML =
      '<span>What is new is offered here.</span><span>Rows stay where they are.</span><button class="btn plain" type="button" hidden>Show them <kbd>n</kbd></button>';
    bar.lastChild.id = `${bar.id}-show`;
    place.before(bar);
    return bar;
  };
  const words = ({ added, changed, gone, moved }) => {
    const parts = [
      added > 0 && `${added} new`,
      changed > 0 && `${changed} changed`,
      gone > 0 && `${gone} gone`,
      moved && added + changed + gone === 0 && 'another order',
    ].filter(Boolean);
    return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
  };

  let since = main()?.dataset.at;
  let isShowing = false;
  let isOffered = false;
  /** Whether a row that was looked at shows less than is known. */
  let isBehind = false;
  /** What is held while the answer is put in place: a row that is looked at stays where it is on the screen. */
  let anchor = null;

  /** Puts the rows of an answer in the order that is on the screen; answers what the list leaves out. */
  const arrange = (list, next) => {
    const coming = new Map([...next.children].map((row) => [row.id, row]));
    const shown = [...list.children];
    const left = shown.map(({ id }) => id).filter((id) => coming.has(id));
    const moved = [...coming.keys()].filter((id) => document.getElementById(id)?.parentElement === list).join() !== left.join();
    let changed = 0;
    let gone = 0;
    const rows = shown.map((row) => {
      const now = coming.get(row.id);
      coming.delete(row.id);
      if (now !== undefined && !isHeld(row)) return now;
      const copy = row.cloneNode(true);
      if (now === undefined) {
        gone += 1;
        copy.classList.add('gone');
        copy.title = 'It is in this list no more, and shown as it was';
      } else if (textOf(row) !== textOf(now)) {
        changed += 1;
        isBehind ||= isLookedAt(row);
      }
      return copy;
    });
    next.replaceChildren(...rows);
    return { added: coming.size, changed, gone, moved };
  };
  /** The list of the answer that has this one's rows; where the answer has no list, that list is taken over as it is. */
  const nextOf = (list, at, fresh, lists) => {
    const known = [...list.children].map(({ id }) => fresh.querySelector(`#${CSS.escape(id)}`)).find((row) => row !== null);
    const next = known?.closest('[data-still]') ?? (listsOf(fresh).length === lists.length ? listsOf(fresh)[at] : undefined);
    if (next !== undefined) return next;
    const section = list.closest('section[aria-labelledby]');
    const other =
      section && fresh.querySelector(`section[aria-labelledby="${CSS.escape(section.getAttribute('aria-labelledby'))}"]`);
    if (!other) return undefined;
    const copy = section.cloneNode(true);
    copy.querySelector('.new-rows')?.remove();
    other.replaceWith(copy);
    const kept = copy.querySelector('[data-still]');
    const empty = kept.cloneNode(false);
    kept.replaceWith(empty);
    return empty;
  };
  const hold = (fresh) => {
    const lists = listsOf(main());
    isBehind = false;
    let text = '';
    for (const [at, list] of lists.entries()) {
      if (list.children.length === 0 || isShowing || (isBrief(list) && ![...list.children].some(isLookedAt))) continue;
      const next = nextOf(list, at, fresh, lists);
      const found = next === undefined ? '' : words(arrange(list, next));
      if (found === '') continue;
      if (isBrief(list)) {
        isBehind = true;
        continue;
      }
      text ||= found;
      const bar = barOf(next);
      bar.classList.add('offer');
      bar.firstChild.textContent = `${found} since ${since}.`;
      bar.lastChild.hidden = false;
    }
    for (const list of listsOf(fresh)) if (!isBrief(list)) barOf(list);
    if (text === '') since = fresh.dataset.at;
    else if (!isOffered) say(`${text}. Rows stay where they are; the key n shows them.`);
    isOffered = text !== '';
  };
  const lookedAt = () => [...main().querySelectorAll('[data-still] > *')].find(isLookedAt);

  let before = new Set();
  document.addEventListener('htmx:before:swap', ({ detail }) => {
    const fresh = detail.tasks.map(({ fragment }) => fragment.querySelector?.('#main')).find(Boolean);
    if (!fresh) return;
    before = new Set(listsOf(main()).flatMap((list) => [...list.children].map(({ id }) => id)));
    hold(fresh);
    const row = lookedAt();
    anchor = row && !isShowing ? { id: row.id, top: row.getBoundingClientRect().top } : null;
  });
  document.addEventListener('htmx:after:swap', () => {
    const row = anchor && document.getElementById(anchor.id);
    if (row) scrollBy({ top: row.getBoundingClientRect().top - anchor.top, behavior: 'instant' });
    if (isShowing) {
      const added = listsOf(main())
        .flatMap((list) => [...list.children])
        .filter(({ id }) => !before.has(id));
      say(added.length === 0 ? 'Shown.' : `${added.length} new, shown.`);
      (added[0] ?? listsOf(main())[0])?.querySelector('a')?.focus({ preventScroll: true });
    }
    isShowing = false;
  });
  const show = () => {
    if (!isOffered) return;
    isShowing = true;
    main().dispatchEvent(new CustomEvent('pw:refresh'));
  };
  const catchUp = () => {
    if (!isBehind || lookedAt()) return;
    isBehind = false;
    document.dispatchEvent(new CustomEvent('pw:look'));
  };
  if (main()?.dataset.live !== 'yes') return;
  for (const list of listsOf(main())) if (!isBrief(list)) barOf(list);
  document.addEventListener('click', ({ target }) => target.closest('.new-rows button') && show());
  document.addEventListener('pw:show', show);
  for (const type of ['mouseout', 'focusout']) document.addEventListener(type, () => setTimeout(catchUp, 100));
})();

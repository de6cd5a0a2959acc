/* Keys, copies, and times that go on by themselves: nothing here asks the daemon for anything. */
(() => {
  const { base } = document.body.dataset;
  const main = () => document.getElementById('main');
  if (!main()?.dataset.at) return;
  const say = (text) => {
    document.getElementById('said').textContent = text;
  };

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    getSelection().selectAllChildren(source);
    // Without https there is no clipboard, but the older way.
    const isCopied = await (navigator.clipboard?.writeText(source.textContent) ?? Promise.reject()).then(
      () => true,
      () => document.execCommand('copy'),
    );
    const says = isCopied ? 'Copied' : 'Press Ctrl and C';
    if (isCopied) getSelection().removeAllRanges();
    say(isCopied ? 'Copied.' : 'It is selected: press Ctrl and C.');
    button.dataset.said ??= button.innerHTML;
    button.style.minWidth = `${button.offsetWidth}px`;
    button.textContent = says;
    setTimeout(() => {
      button.innerHTML = button.dataset.said;
    }, 3_000);
  };
  // The zone of the browser is known here alone; the page's times are written by the daemon.
  const setOwnZone = () => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const choice = document.querySelector('[data-own-zone]');
    if (!timeZone || choice.closest('form').querySelector(`[value="${CSS.escape(timeZone)}"]:not([data-own-zone])`)) return;
    choice.value = timeZone;
    choice.textContent = `${timeZone}, of this browser`;
    choice.hidden = false;
  };
  setOwnZone();

  // Relative times go on by themselves, by the daemon's clock.
  const UNITS = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  let exact = false;
  let ahead = Number.NEGATIVE_INFINITY;
  const lengthText = (ms, parts) => {
    const at = UNITS.findIndex(([length]) => ms >= length);
    if (at < 0) return '0\u00a0s';
    const [length, sign] = UNITS[at];
    const rest = parts > 1 && at < 3 && ms % length >= UNITS[at + 1][0] ? ` ${lengthText(ms % length, 1)}` : '';
    return `${Math.floor(ms / length)}\u00a0${sign}${rest}`;
  };
  const tick = () => {
    // An answer that took its time, or is shared, shows a clock that is behind.
    ahead = Math.max(ahead, main().dataset.now - Date.now());
    const now = Date.now() + ahead;
    for (const each of document.querySelectorAll('time.when')) {
      const distance = now - Date.parse(each.dateTime);
      if (exact) each.textContent = each.dataset.exact;
      else if (each.dataset.length) each.textContent = lengthText(Math.max(distance, 0), 2);
      else if (Math.abs(distance) < 1_000) each.textContent = 'now';
      else each.textContent = distance > 0 ? `${lengthText(distance, 1)} ago` : `in ${lengthText(-distance, 1)}`;
    }
  };
  // A page that is not up to date stands still as a whole.
  setInterval(() => !document.hidden && !document.querySelector('#live.lost, .main.stale') && tick(), 10_000);
  /** The times of a row are one stop of the Tab key; arrows go from one to the next. */
  const timesOf = (row) => [...row.querySelectorAll('time.when')];
  const oneStop = (part) => {
    for (const row of part.querySelectorAll('tr, li'))
      for (const [at, time] of timesOf(row).entries()) time.tabIndex = at === 0 ? 0 : -1;
  };
  oneStop(document);
  /** Cells of a table of hours are out of the Tab key's way: arrows go from a row's name into its cells, and over cells without a list. */
  const stepCell = (target, key) => {
    const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[key] ?? [0, 0];
    const rows = [...target.closest('table').rows].map((row) => [...row.cells]);
    let y = target.closest('tr').rowIndex;
    let x = target.closest('th, td').cellIndex;
    let next = null;
    do {
      [x, y] = [x + dx, y + dy];
      next = rows[y]?.[x];
    } while (next && !next.querySelector('a'));
    next?.querySelector('a').focus();
  };
  document.addEventListener('htmx:before:swap', ({ detail }) => {
    for (const { fragment } of detail.tasks) oneStop(fragment);
  });
  document.addEventListener('htmx:after:swap', () => {
    setOwnZone();
    tick();
  });

  // Keys: none acts on data.
  const GO = {
    n: '/',
    h: '/?at=1h',
    t: '/trends',
    i: '/incidents',
    p: '/purchases',
    s: '/sites',
    u: '/subscribers',
    d: '/deliveries',
    c: '/channels',
    l: '/silences',
    r: '/rehearse',
    y: '/system',
  };
  /** Remembered by this browser; one that keeps nothing has its keys on. */
  const kept = (value) => {
    try {
      if (value) localStorage.setItem('purchase-watch keys', value);
      return localStorage.getItem('purchase-watch keys');
    } catch {
      return null;
    }
  };
  const keys = document.getElementById('keys');
  const keysOn = document.getElementById('keys-on');
  keysOn.checked = kept() !== 'off';
  keysOn.addEventListener('change', () => kept(keysOn.checked ? 'on' : 'off'));
  let went = 0;
  const ROW = 'tbody tr, .rows > li';
  const step = (by) => {
    const all = [...main().querySelectorAll(ROW)].filter((row) => row.querySelector('a'));
    const at = all.findIndex((row) => row.contains(document.activeElement));
    all[Math.min(Math.max(at + by, 0), all.length - 1)]?.querySelector('a').focus();
  };
  const stepTime = (target, by) => {
    const times = timesOf(target.closest('tr, li') ?? target.parentElement);
    times[times.indexOf(target) + by]?.focus();
  };
  /** On a page about the past a key is a link; a table that scrolls keeps its arrows. */
  const stepInTime = ({ key, shiftKey, target }) => {
    const name = `${shiftKey ? 'Shift ' : ''}${key}`;
    const link = target.closest('.scroll') ? null : main().querySelector(`[data-key="${CSS.escape(name)}"]`);
    link?.click();
    return link;
  };
  document.addEventListener('click', (event) => {
    const { target } = event;
    const copied = target.closest('[data-copy]');
    if (copied) copy(copied);
    const zone = document.getElementById('zone');
    if (!zone.contains(target)) zone.open = false;
    // A link to a form that is folded away opens it.
    const place = target.closest('a[href^="#"]')?.getAttribute('href').slice(1);
    const folded = document.getElementById(place)?.closest('details');
    if (folded) folded.open = true;
    if (!target.closest('[data-keys]')) return;
    event.preventDefault();
    keys.showModal();
  });
  const isText = (field) => field.matches('input, textarea, select') && !field.matches('[type=checkbox], [type=radio]');
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === 'Escape') {
      if (isText(target)) target.blur();
      document.getElementById('zone').open = false;
      return;
    }
    if (isText(target) || keys.open) return;
    const isGoing = Date.now() - went < 1_500;
    went = 0;
    if (key.startsWith('Arrow') && target.matches('time.when')) stepTime(target, /Right|Down/.test(key) ? 1 : -1);
    else if (key.startsWith('Arrow') && target.closest('table.heat')) stepCell(target, key);
    else if (!keysOn.checked) return;
    else if (stepInTime(event)) went = 0;
    else if (isGoing && GO[key]) location.href = base + GO[key];
    else if (key === 'g') went = Date.now();
    else if (key === '?') keys.showModal();
    else if (key === '/') document.getElementById('find').focus();
    else if (key === 'j') step(1);
    else if (key === 'k') step(-1);
    else if (key === 'x') target.closest(ROW)?.querySelector('[type=checkbox]')?.click();
    else if (key === 'n') document.dispatchEvent(new CustomEvent('pw:show'));
    else if (key === 'p') document.querySelector('[data-pause]:not([hidden])')?.click();
    else if (key === 't') {
      exact = !exact;
      tick();
    } else return;
    event.preventDefault();
  });
})();

/*
 * What the console's pages do beside being read: they keep themselves up to date, and take keys. Every page is complete without
 * this file. It is served as it is, so it is plain JavaScript for the browsers of the last three years.
 */
(() => {
  const { base } = document.body.dataset;
  const main = () => document.getElementById('main');
  const isLive = main()?.dataset.live === 'yes';
  /** A page without an answer for so long says that it may be out of date; the daemon sends something every 15 s. */
  const LOST_AFTER = 25_000;

  // Live updates
  const state = { pausedAt: null, missed: 0, heardAt: Date.now(), lost: false, stream: null, wanted: false };

  const clock = (at) => new Date(at).toLocaleTimeString('sv-SE');
  const setLine = () => {
    const line = document.getElementById('live');
    if (!line) return;
    const text = line.querySelector('[data-live-text]');
    const button = line.querySelector('[data-pause]');
    line.classList.toggle('lost', state.lost);
    line.classList.toggle('held', state.pausedAt !== null);
    button.hidden = false;
    button.textContent = state.pausedAt === null ? 'Pause' : 'Go on';
    const changes = state.missed === 1 ? '1 change since' : `${state.missed} changes since`;
    if (state.lost) text.textContent = `No answer from the daemon since ${clock(state.heardAt)}; you see how it was then`;
    else if (state.pausedAt !== null) text.textContent = `Paused by you at ${clock(state.pausedAt)}, ${changes}`;
    else if (state.wanted) text.textContent = 'Something changed; it is shown when you leave the field';
    else text.textContent = `Live, updated ${main().dataset.at}`;
  };

  /** Whether a swap now would take something from the person: a field in use, or text that is selected. */
  const isBusy = () => {
    const at = document.activeElement;
    const isTyping = at && main().contains(at) && at.matches('input, textarea, select');
    const isSelecting = !getSelection().isCollapsed && main().contains(getSelection().anchorNode);
    return isTyping || isSelecting;
  };
  const refresh = () => {
    if (state.pausedAt !== null || document.hidden) return;
    state.wanted = isBusy();
    if (!state.wanted) main().dispatchEvent(new CustomEvent('pw:refresh'));
    setLine();
  };
  const isStill = matchMedia('(prefers-reduced-motion: reduce)');
  /** The dot fades once for each message of the stream. Fading all the time would keep the processor busy where no graphics card draws. */
  const beat = () => {
    if (!isStill.matches)
      main()
        .querySelector('.beat')
        ?.animate({ opacity: [1, 0.35, 1] }, 1_200);
  };
  const heard = () => {
    const wasLost = state.lost;
    state.heardAt = Date.now();
    state.lost = false;
    beat();
    setLine();
    if (wasLost) refresh();
  };
  const lose = () => {
    if (state.lost || document.hidden) return;
    state.lost = true;
    setLine();
  };
  const connect = () => {
    if (state.stream || document.hidden) return;
    state.stream = new EventSource(`${base}/live`);
    state.stream.addEventListener('beat', heard);
    state.stream.addEventListener('refresh', () => {
      heard();
      state.missed += 1;
      refresh();
    });
    state.stream.addEventListener('error', () => {
      lose();
      // A browser gives up on a stream that is refused, as after the session's end; the page then asks for itself again.
      if (state.stream?.readyState === EventSource.CLOSED) {
        disconnect();
        setTimeout(connect, 3_000);
      }
    });
  };
  const disconnect = () => {
    state.stream?.close();
    state.stream = null;
  };
  const togglePause = () => {
    state.pausedAt = state.pausedAt === null ? Date.now() : null;
    state.missed = 0;
    setLine();
    refresh();
  };
  if (isLive) {
    connect();
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) return disconnect();
      state.heardAt = Date.now();
      connect();
      refresh();
    });
    document.addEventListener('focusout', () => state.wanted && setTimeout(refresh, 50));
    setInterval(() => Date.now() - state.heardAt > LOST_AFTER && lose(), 5_000);
    setLine();
  }

  // What a swap must not change: which details are open, and where the focus is.
  let open = [];
  let focused = null;
  let incidents = main()?.querySelector('[data-said]')?.textContent ?? '';
  document.addEventListener('htmx:before:swap', () => {
    open = [...main().querySelectorAll('details[id]')].filter((each) => each.open).map((each) => each.id);
    focused = main().contains(document.activeElement) ? document.activeElement.id : null;
  });
  document.addEventListener('htmx:after:swap', () => {
    for (const id of open) document.getElementById(id)?.setAttribute('open', '');
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    const now = main().querySelector('[data-said]')?.textContent ?? '';
    if (now !== incidents) document.getElementById('said').textContent = now;
    incidents = now;
    state.missed = 0;
    setLine();
    tick();
  });
  document.addEventListener('htmx:error', lose);
  document.addEventListener('htmx:response:error', lose);
  document.addEventListener('click', (event) => {
    if (event.target.closest('[data-pause]')) togglePause();
    if (event.target.closest('[data-keys]')) {
      event.preventDefault();
      document.getElementById('keys').showModal();
    }
    const copied = event.target.closest('[data-copy]');
    if (copied) navigator.clipboard?.writeText(document.getElementById(copied.dataset.copy).textContent);
  });

  // Relative times go on by themselves.
  const UNITS = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ];
  let exact = false;
  const lengthText = (ms) => {
    const at = UNITS.findIndex(([length]) => ms >= length);
    if (at < 0) return '0\u00a0s';
    const [length, sign] = UNITS[at];
    return `${Math.floor(ms / length)}\u00a0${sign}`;
  };
  const tick = () => {
    for (const each of document.querySelectorAll('time.when')) {
      const distance = Date.now() - Date.parse(each.dateTime);
      if (exact) each.textContent = new Date(each.dateTime).toLocaleString('sv-SE');
      else if (each.dataset.length) each.textContent = lengthText(Math.max(distance, 0));
      else if (Math.abs(distance) < 1_000) each.textContent = 'now';
      else each.textContent = distance > 0 ? `${lengthText(distance)} ago` : `in ${lengthText(-distance)}`;
    }
  };
  setInterval(() => !document.hidden && !state.lost && tick(), 10_000);

  // Keys: none acts on data.
  const GO = {
    n: '/',
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
  let went = 0;
  const rows = () => [...main().querySelectorAll('tbody tr, .rows > li')].filter((row) => row.querySelector('a'));
  const step = (by) => {
    const all = rows();
    const at = all.findIndex((row) => row.classList.contains('cur'));
    all[at]?.classList.remove('cur');
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    next?.classList.add('cur');
    next?.querySelector('a').focus();
  };
  document.addEventListener('keydown', (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.matches('input, textarea, select')) {
      if (key === 'Escape') target.blur();
      return;
    }
    const isGoing = Date.now() - went < 1_500;
    went = 0;
    if (isGoing && GO[key]) location.href = base + GO[key];
    else if (key === 'g') went = Date.now();
    else if (key === '?') document.getElementById('keys').showModal();
    else if (key === '/') document.getElementById('find').focus();
    else if (key === 'j') step(1);
    else if (key === 'k') step(-1);
    else if (key === 'p' && isLive) togglePause();
    else if (key === 't') {
      exact = !exact;
      tick();
    } else return;
    event.preventDefault();
  });
})();

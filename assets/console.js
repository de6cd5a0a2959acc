/*
 * What the console's pages do beside being read: they keep themselves up to date, and say when their daemon or their session is
 * gone. Every page is complete without script. It is served as it is, so it is plain JavaScript for the browsers of the last three years.
 */
(() => {
  const { base } = document.body.dataset;
  const main = () => document.getElementById('main');
  // The page that asks for a key has nothing of this.
  if (!main()?.dataset.at) return;
  const isLive = main().dataset.live === 'yes';
  /** A page without an answer for so long says that it may be out of date; the daemon sends something every 15 s. */
  const LOST_AFTER = 25_000;
  const say = (text) => {
    document.getElementById('said').textContent = text;
  };

  // Live updates
  const state = { pausedAt: null, missed: 0, heardAt: Date.now(), lost: false, outAt: null, stream: null, wanted: false };

  /** As the page itself writes times. */
  const clock = (at) => {
    try {
      return new Date(at).toLocaleTimeString('sv-SE', { timeZone: main().dataset.zone });
    } catch {
      // The browser knows fewer zones than the daemon.
      return `${new Date(at).toISOString().slice(11, 19)} UTC`;
    }
  };
  const setLine = () => {
    const line = document.getElementById('live');
    if (!line) return;
    const text = line.querySelector('[data-live-text]');
    const button = line.querySelector('[data-pause]');
    line.classList.toggle('lost', state.lost || state.outAt !== null);
    line.classList.toggle('held', state.pausedAt !== null);
    button.hidden = state.outAt !== null;
    button.textContent = state.pausedAt === null ? 'Pause' : 'Go on';
    const changes = state.missed === 1 ? '1 change since' : `${state.missed} changes since`;
    if (state.outAt) text.textContent = `Signed out at ${clock(state.outAt)}; stands still since`;
    else if (state.lost) text.textContent = `No answer from the daemon since ${clock(state.heardAt)}; you see how it was then`;
    else if (state.pausedAt !== null) text.textContent = `Paused by you at ${clock(state.pausedAt)}, ${changes}`;
    else if (state.wanted) text.textContent = 'Something changed; it is shown when you leave the field';
    else text.textContent = `Live, updated ${main().dataset.at}`;
  };

  /** What a refresh brings anew and a person may be at work in. */
  const SWAPPED = ':is(#main, #who)';
  const isSwapped = (element) => element?.closest(SWAPPED);
  const TICKS = '[type=checkbox], [type=radio]';
  const isText = (field) => field.matches('input, textarea, select') && !field.matches(TICKS);
  /** Whether a swap now would take something from the person: a field in use, or text that is selected. */
  const isBusy = () => {
    const at = document.activeElement;
    const isTyping = isSwapped(at) && isText(at);
    const isSelecting = !getSelection().isCollapsed && main().contains(getSelection().anchorNode);
    return isTyping || isSelecting;
  };
  const refresh = () => {
    if (!isLive || state.pausedAt !== null || state.outAt !== null || document.hidden) return;
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
  const disconnect = () => {
    state.stream?.close();
    state.stream = null;
  };
  /** How the daemon stands to this browser: `in`, `out` (the session has ended) or `away`. */
  const ask = async () => {
    try {
      const { status } = await fetch(`${base}/live`, { method: 'HEAD', signal: AbortSignal.timeout(10_000) });
      return status === 401 ? 'out' : status < 500 ? 'in' : 'away';
    } catch {
      return 'away';
    }
  };
  const connect = () => {
    if (!isLive || state.stream || document.hidden) return;
    state.stream = new EventSource(`${base}/live`);
    state.stream.addEventListener('beat', heard);
    state.stream.addEventListener('refresh', () => {
      heard();
      state.missed += 1;
      refresh();
    });
    state.stream.addEventListener('error', async () => {
      lose();
      // A browser gives up on a stream that is refused, as after the session's end.
      if (state.stream?.readyState !== EventSource.CLOSED) return;
      disconnect();
      if ((await ask()) === 'out') signedOut();
      else setTimeout(connect, 3_000);
    });
  };

  // A session that ends leaves the page as it is, with a way in at its top.
  const signedOut = () => {
    if (state.outAt !== null) return;
    disconnect();
    state.outAt = Date.now();
    const panel = document.getElementById('signed-out').content.cloneNode(true);
    panel.querySelector('[data-at]').textContent = clock(state.outAt);
    main().querySelector('.bar').after(panel);
    main().classList.add('stale');
    document.getElementById('who').hidden = true;
    say(`You were signed out at ${clock(state.outAt)}. The page stays as it was then.`);
    setLine();
  };
  const signedIn = () => {
    if (state.outAt === null) return;
    state.outAt = null;
    main().querySelector('.sign-again')?.remove();
    main().classList.remove('stale');
    document.getElementById('who').hidden = false;
    say('You are signed in again.');
    connect();
    refresh();
    setLine();
  };
  const lookAgain = async () => {
    if (state.outAt !== null && !document.hidden && (await ask()) === 'in') signedIn();
  };
  const signInHere = async (form) => {
    const problem = document.getElementById('sign-again-problem');
    const init = { method: 'POST', body: new URLSearchParams(new FormData(form)), headers: { 'hx-request': 'true' } };
    const answer = await fetch(form.action, init).catch(() => null);
    if (answer?.ok) return signedIn();
    problem.hidden = false;
    problem.textContent = (await answer?.text()) ?? 'The daemon does not answer. Try again in a few seconds.';
    form.querySelector('[name=key]').select();
  };

  /** A form is sent when there is somebody who takes it: what was typed is not lost to a page that says otherwise. */
  const send = async (form, submitter) => {
    if (form.dataset.asking) return;
    form.dataset.asking = 'yes';
    form.querySelector('[data-unsent]')?.remove();
    const is = await ask();
    delete form.dataset.asking;
    if (is === 'in') {
      form.dataset.sure = 'yes';
      return form.requestSubmit(submitter);
    }
    const note = document.createElement('p');
    note.className = 'problem';
    note.dataset.unsent = '';
    note.setAttribute('role', 'alert');
    note.textContent = `Nothing was sent at ${clock(Date.now())}: ${is === 'out' ? 'you are signed out' : 'the daemon does not answer'}. What you typed is kept.`;
    form.append(note);
    if (is === 'away') return lose();
    signedOut();
    main().querySelector('.sign-again :is([name=key], [data-go-on])')?.focus();
  };
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.id === 'sign-again') {
      event.preventDefault();
      return signInHere(form);
    }
    const isHeard = isLive && state.outAt === null && !state.lost && Date.now() - state.heardAt < LOST_AFTER;
    const isOwn = form.method === 'post' && form.closest('.app');
    if (event.defaultPrevented || !isOwn || isHeard || form.dataset.sure) return delete form.dataset.sure;
    event.preventDefault();
    send(form, event.submitter);
  });

  const togglePause = () => {
    state.pausedAt = state.pausedAt === null ? Date.now() : null;
    state.missed = 0;
    setLine();
    refresh();
  };
  document.addEventListener('visibilitychange', lookAgain);
  addEventListener('focus', lookAgain);
  if (isLive) {
    connect();
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) return disconnect();
      if (state.outAt !== null) return;
      state.heardAt = Date.now();
      connect();
      refresh();
    });
    document.addEventListener('focusout', () => state.wanted && setTimeout(refresh, 50));
    setInterval(() => Date.now() - state.heardAt > LOST_AFTER && state.outAt === null && lose(), 5_000);
    setLine();
  }

  // What a swap must not change: which details are open, what was typed and ticked, and where the focus is.
  const isTyped = (field) =>
    field.matches(TICKS)
      ? field.checked !== field.defaultChecked
      : field.matches('select')
        ? [...field.options].some((option) => option.selected !== option.defaultSelected)
        : field.type !== 'hidden' && field.value !== field.defaultValue;
  let open = [];
  let typed = [];
  let focused = {};
  let incidents = main().querySelector('[data-said]')?.textContent ?? '';
  document.addEventListener('htmx:before:swap', () => {
    const at = document.activeElement;
    open = [...document.querySelectorAll(`${SWAPPED} details[id][open]`)].map((each) => each.id);
    typed = [...document.querySelectorAll(`${SWAPPED} :is(input, textarea, select)`)].filter(isTyped);
    typed = typed.map((field) => ({ field, value: field.value, checked: field.checked }));
    focused = isSwapped(at) ? { id: at.id, href: at.getAttribute('href') } : {};
  });
  document.addEventListener('htmx:after:swap', () => {
    for (const id of open) document.getElementById(id)?.setAttribute('open', '');
    for (const { field, value, checked } of typed) {
      if (!field.matches(TICKS)) field.value = value;
      else field.checked = checked;
    }
    if (focused.id) document.getElementById(focused.id)?.focus({ preventScroll: true });
    // The link that had the focus may stand elsewhere now, and another one in its place.
    else if (focused.href && document.activeElement.getAttribute('href') !== focused.href)
      main()
        .querySelector(`a[href="${CSS.escape(focused.href)}"]`)
        ?.focus({ preventScroll: true });
    const now = main().querySelector('[data-said]')?.textContent ?? '';
    if (now !== incidents) say(now);
    incidents = now;
    state.missed = 0;
    setLine();
  });
  document.addEventListener('htmx:error', lose);
  document.addEventListener('htmx:response:error', ({ detail }) => {
    const { status } = detail.ctx.response;
    if (status === 401) signedOut();
    else if (status >= 500) lose();
  });

  document.addEventListener('click', ({ target }) => {
    if (target.closest('[data-pause]')) togglePause();
    if (target.closest('[data-go-on]')) lookAgain();
  });
  document.addEventListener('pw:look', refresh);
})();

/*
 * Keeps the demo's bar, Slack and the shop up to date while a page of the demo is open, and turns switches without leaving the page.
 * Without this file the switches are forms, and a page shows how things were when it was opened.
 */
(() => {
  const EVERY = 1_000;
  const isAway = document.getElementById('demo-away') !== null;

  /** Whether a change would take something from the person: a link that has the focus, or text that is selected. */
  const isInUse = (part) => {
    const { activeElement } = document;
    const isFocused = part.contains(activeElement) && activeElement.id === '';
    const selection = getSelection();
    return isFocused || (!selection.isCollapsed && part.contains(selection.anchorNode));
  };
  const show = (text) => {
    const next = new DOMParser().parseFromString(text, 'text/html');
    for (const fresh of next.querySelectorAll('[data-part]')) {
      const part = document.getElementById(fresh.id);
      if (part === null || part.innerHTML === fresh.innerHTML || isInUse(part)) continue;
      const focused = part.contains(document.activeElement) ? document.activeElement.id : null;
      part.replaceChildren(...fresh.childNodes);
      if (focused !== null) document.getElementById(focused)?.focus({ preventScroll: true });
    }
  };
  const look = async () => {
    if (document.hidden) return;
    const back = encodeURIComponent(location.pathname + location.search);
    const answer = await fetch(`/demo/now?back=${back}`).catch(() => null);
    if (!answer?.ok) return;
    // The page that stood here while the daemon was dead gives way to the page that was asked for.
    if (isAway && answer.headers.get('demo-daemon-answers') === 'yes') location.reload();
    else show(await answer.text());
  };
  document.addEventListener('submit', async (event) => {
    if (event.target.id !== 'demo-switches') return;
    event.preventDefault();
    const body = new URLSearchParams(new FormData(event.target, event.submitter));
    // What follows is shown by the next look; a switch that takes its time, as a daemon that starts, holds nothing up.
    await fetch(event.target.action, { method: 'POST', body, redirect: 'manual' }).catch(() => null);
    await look();
  });
  setInterval(look, EVERY);
})();

// The choice of purchases: it stays over refreshes and pages, in this tab, until it was used or taken back.
(() => {
  const KEY = 'purchases-chosen';
  const MOST = 400;
  const form = () => document.getElementById('choose');
  const read = () => new Set(JSON.parse(sessionStorage.getItem(KEY) ?? '[]'));
  const write = (chosen) => sessionStorage.setItem(KEY, JSON.stringify([...chosen]));
  const boxes = () => [...document.querySelectorAll('table.pick input[form="choose"]')];
  const show = () => {
    const bar = form();
    if (!bar) return;
    const chosen = read();
    for (const box of boxes()) box.checked = chosen.has(box.name);
    for (const each of bar.querySelectorAll('[data-elsewhere]')) each.remove();
    const here = new Set(boxes().map((box) => box.name));
    for (const name of chosen) {
      if (here.has(name)) continue;
      const field = Object.assign(document.createElement('input'), { type: 'hidden', name, value: 'on' });
      field.dataset.elsewhere = '';
      bar.append(field);
    }
    const elsewhere = [...chosen].filter((name) => !here.has(name)).length;
    const said = bar.querySelector('[data-chosen]');
    said.textContent =
      chosen.size === 0
        ? 'Tick purchases to act on them'
        : `${chosen.size} chosen${elsewhere > 0 ? `, ${elsewhere} on other pages` : ''}`;
    bar.querySelector('[data-choose-none]').hidden = chosen.size === 0;
    bar.toggleAttribute('data-none', chosen.size === 0 && !bar.querySelector('[name=all]').checked);
  };
  if (document.querySelector('[data-choice-done]')) sessionStorage.removeItem(KEY);
  document.addEventListener('change', ({ target }) => {
    if (target.name === 'all') return show();
    if (target.getAttribute?.('form') !== 'choose') return;
    const chosen = read();
    if (target.checked && chosen.size >= MOST) target.checked = false;
    else if (target.checked) chosen.add(target.name);
    else chosen.delete(target.name);
    write(chosen);
    show();
  });
  document.addEventListener('click', ({ target }) => {
    if (!target.closest('[data-choose-none]')) return;
    sessionStorage.removeItem(KEY);
    show();
  });
  document.addEventListener('htmx:after:swap', show);
  addEventListener('pageshow', show);
  show();
})();

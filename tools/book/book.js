/* The search of the book: everything is loaded from the book itself, once somebody types. */
(() => {
  const form = document.querySelector('form.find');
  const input = document.querySelector('#find');
  const found = document.querySelector('#found');
  const root = document.body.dataset.root;
  const MOST = 12;
  const AROUND = 90;
  let searching;

  form.hidden = false;
  // Where the navigation stands above the text, it is closed at first.
  if (matchMedia('(max-width: 60rem)').matches) document.querySelector('nav details').open = false;

  const load = (name) =>
    new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `${root}/assets/${name}`;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${name} cannot be loaded`));
      document.head.append(script);
    });

  /** Resolves to the search of the sections. */
  const prepare = () => {
    searching ??= Promise.all(['minisearch.js', 'search.js', 'sections.js'].map(load)).then(() =>
      globalThis.searchOf(globalThis.MiniSearch, globalThis.sections),
    );
    return searching;
  };

  const element = (name, text, className = '') => {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = className;
    return made;
  };

  /** The words around the first match, with the matches marked. */
  const excerpt = (text, terms) => {
    const small = text.toLowerCase();
    const [longest] = terms.toSorted((a, b) => b.length - a.length);
    const from = Math.max(small.indexOf(longest) - AROUND / 3, 0);
    const made = element('span', '', 'excerpt');
    const pattern = new RegExp(`(${terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'i');
    const part = `${from > 0 ? '… ' : ''}${text.slice(from, from + 2 * AROUND)}`;
    part.split(pattern).forEach((piece, index) => {
      made.append(index % 2 === 1 ? element('mark', piece) : piece);
    });
    return made;
  };

  const show = async () => {
    const query = input.value.trim();
    found.hidden = query === '';
    if (query === '') return;
    try {
      const search = await prepare();
      if (query !== input.value.trim()) return;
      const results = search(query).slice(0, MOST);
      const list = document.createElement('ul');
      for (const { address, title, heading, text, terms } of results) {
        const link = document.createElement('a');
        link.href = `${root}/${address}`;
        link.append(
          element('b', heading || title),
          element('span', heading && heading !== title ? ` ${title}` : '', 'page'),
          excerpt(text, terms),
        );
        const item = document.createElement('li');
        item.append(link);
        list.append(item);
      }
      found.replaceChildren(results.length > 0 ? list : element('p', `Nothing is found for “${query}”.`));
    } catch (error) {
      found.replaceChildren(element('p', `The search does not work: ${error.message}.`));
    }
  };

  const close = () => {
    input.value = '';
    found.hidden = true;
  };
  input.addEventListener('focus', () => void prepare().catch(() => undefined));
  input.addEventListener('input', () => void show());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    found.querySelector('a')?.click();
  });
  found.addEventListener('click', (event) => {
    if (event.target.closest('a')) close();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !/^(?:INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
    if (event.key === 'Escape' && !found.hidden) {
      close();
      input.focus();
    }
  });
})();

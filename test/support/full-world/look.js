/*
 * Runs in a page, and answers what is wrong with its layout as it stands, as texts `rule | where | what`. One reading of the
 * layout for all checks. The same fault in many rows of a list is one fault.
 */
globalThis.look = () => {
  const faults = new Map();
  const nameOf = (element) => {
    const one = (each) => {
      const classes = [...each.classList].filter((name) => name !== 'cur').map((name) => `.${name}`);
      return `${each.localName}${classes.join('')}${each.dataset?.l ? `[${each.dataset.l}]` : ''}`;
    };
    const place = element.closest('section, article, form, figure, header, dialog, main') ?? document.body;
    const label = place.getAttribute('aria-labelledby') ?? place.getAttribute('aria-label') ?? place.localName;
    return `${label.replace(/[0-9_].*/, '')} > ${element.parentElement ? `${one(element.parentElement)} > ` : ''}${one(element)}`;
  };
  const textOf = (element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim().slice(0, 50);
  const fault = (rule, element, what = textOf(element)) => {
    const where = nameOf(element);
    if (!faults.has(`${rule} ${where}`)) faults.set(`${rule} ${where}`, `${rule} | ${where} | ${what}`);
  };

  const styles = new Map();
  const styleOf = (element) => {
    let style = styles.get(element);
    if (style === undefined) {
      style = getComputedStyle(element);
      styles.set(element, style);
    }
    return style;
  };
  const HIDDEN =
    '.vh, script, style, option, noscript, defs, symbol, svg title, svg desc, [popover]:not(:popover-open), dialog:not([open])';
  /** What of an element is seen: null for all of it, otherwise the part that clipping ancestors leave. */
  const clips = new Map();
  const clipOf = (element) => {
    if (element === null || element === document.body || element === document.documentElement) return null;
    if (clips.has(element)) return clips.get(element);
    let clip = clipOf(element.parentElement);
    const { overflowX, overflowY } = styleOf(element);
    if (!(element instanceof SVGElement) && (overflowX !== 'visible' || overflowY !== 'visible')) {
      const own = element.getBoundingClientRect();
      clip = clip === null ? own : cut(own, clip);
    }
    clips.set(element, clip);
    return clip;
  };
  const cut = (a, b) => {
    const [left, top, right, bottom] = [
      Math.max(a.left, b.left),
      Math.max(a.top, b.top),
      Math.min(a.right, b.right),
      Math.min(a.bottom, b.bottom),
    ];
    return { left, top, right, bottom };
  };

  // Texts, each line of each with where it stands
  const boxes = [];
  const BOX =
    'td, th, dd, dt, li, summary, button, .btn, .chip, .tag, .panel, figure, .note, .flash, .confirm, label, legend, pre';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const seen = new Set();
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node.data.trim() === '') continue;
    const element = node.parentElement;
    if (element.closest(HIDDEN) !== null || !element.checkVisibility({ visibilityProperty: true })) continue;
    seen.add(element);
    range.selectNodeContents(node);
    const picture = element.closest('svg');
    const frame = picture?.getBoundingClientRect();
    const own = element.closest(BOX);
    const bound =
      own === null ||
      (styleOf(own).display.startsWith('inline') && own.localName !== 'button' && !own.matches('.btn, .chip, .tag'))
        ? null
        : own.getBoundingClientRect();
    // What scrolls within the box may be longer.
    const scrolls = own !== null && element.closest('.scroll, pre') !== null && own.contains(element.closest('.scroll, pre'));
    const clip = clipOf(element);
    const spot = element.closest('.node')?.querySelector('rect.box')?.getBoundingClientRect();
    // A range has the natural width of a text that is fitted to a length.
    for (const line of element.hasAttribute('textLength') ? [element.getBoundingClientRect()] : range.getClientRects()) {
      if (line.width < 1 || line.height < 1) continue;
      if (
        picture !== null &&
        (line.left < frame.left - 1 || line.right > frame.right + 1 || line.bottom > frame.bottom + 2 || line.top < frame.top - 2)
      )
        fault('text outside its picture', element);
      if (spot !== undefined && (line.left < spot.left || line.right > spot.right)) fault('text outside its node', element);
      const shown = clip === null ? line : cut(line, clip);
      if (shown.right - shown.left < 1 || shown.bottom - shown.top < 1) continue;
      if (
        bound !== null &&
        !scrolls &&
        (shown.right > bound.right + 1.5 || shown.left < bound.left - 1.5 || shown.bottom > bound.bottom + 3)
      )
        fault('text outside its box', element);
      boxes.push({ ...{ left: shown.left, top: shown.top, right: shown.right, bottom: shown.bottom }, element, isText: true });
    }
  }
  const CONTROL = 'button, .btn, input:not([type="hidden"]), select, textarea, .chip, .panel, figure, pre';
  for (const element of document.querySelectorAll(CONTROL)) {
    if (element.closest(HIDDEN) !== null || !element.checkVisibility({ visibilityProperty: true })) continue;
    const own = element.getBoundingClientRect();
    const clip = clipOf(element.parentElement);
    const shown = clip === null ? own : cut(own, clip);
    const { left, top, right, bottom } = shown;
    if (right - left > 1 && bottom - top > 1) boxes.push({ left, top, right, bottom, element, isText: false });
  }

  // Over each other: boxes by their tops, each compared with those that have not ended
  boxes.sort((a, b) => a.top - b.top);
  let open = [];
  for (const box of boxes) {
    open = open.filter((each) => each.bottom > box.top + 1);
    for (const other of open) {
      const width = Math.min(box.right, other.right) - Math.max(box.left, other.left);
      const height = Math.min(box.bottom, other.bottom) - box.top;
      const least = Math.min(box.bottom - box.top, other.bottom - other.top);
      if (width < 2 || height < Math.max(3, least * 0.25)) continue;
      const [a, b] = [box.element, other.element];
      // A mark of the field's own, within the room that the field leaves for it.
      if (a === b || a.contains(b) || b.contains(a) || a.closest('kbd[aria-hidden]') || b.closest('kbd[aria-hidden]')) continue;
      fault('over each other', a, `${textOf(a)} / ${nameOf(b)} ${textOf(b)}`);
    }
    open.push(box);
  }

  // Cut, and scrolled
  for (const element of document.body.querySelectorAll('*')) {
    if (element instanceof SVGElement || element.closest(HIDDEN) !== null) continue;
    const { overflowX, overflowY, textOverflow } = styleOf(element);
    if (overflowX === 'visible' && overflowY === 'visible') continue;
    if (
      !element.checkVisibility({ visibilityProperty: true }) ||
      element.clientWidth === 0 ||
      element.matches('input, select, textarea')
    )
      continue;
    const isWide = element.scrollWidth > element.clientWidth + 1;
    const isHigh = element.scrollHeight > element.clientHeight + 2;
    const hides = (overflow) => overflow === 'hidden' || overflow === 'clip';
    if ((isWide && hides(overflowX)) || (isHigh && hides(overflowY))) {
      const titled = element.closest('[title]') ?? element.querySelector('[title]');
      if (titled === null && element.closest('a[href]') === null && element.querySelector('a[href]') === null)
        fault('cut, and nowhere whole', element);
      if (textOverflow === 'ellipsis' && element.clientWidth < 36) fault('cut to nothing', element);
    }
    if (isWide && element.querySelector('table') !== null && !hides(overflowX)) fault('a table scrolls sideways', element);
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) {
    const wide = [...document.body.querySelectorAll('*')].filter(
      (each) => each.getBoundingClientRect().right > clientWidth + 0.5 && clipOf(each.parentElement) === null,
    );
    for (const each of wide.filter((one) => !wide.some((other) => other !== one && one.contains(other))).slice(0, 3))
      fault('the page scrolls sideways', each);
    if (wide.length === 0) fault('the page scrolls sideways', document.body, `${scrollWidth} in ${clientWidth}`);
  }

  for (const [element, ratio] of lowContrast([...seen], styleOf))
    fault('contrast', element, `${ratio.toFixed(2)} ${textOf(element)}`);
  return [...faults.values()];
};

/** Elements whose text has too little contrast to what is behind it, each pair of colours once. */
function lowContrast(elements, styleOf) {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const colours = new Map();
  const colourOf = (text) => {
    let colour = colours.get(text);
    if (colour === undefined) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
      colour = { red, green, blue, alpha: alpha / 255 };
      colours.set(text, colour);
    }
    return colour;
  };
  const over = (front, back) => {
    const mix = (name) => front[name] * front.alpha + back[name] * (1 - front.alpha);
    return { red: mix('red'), green: mix('green'), blue: mix('blue'), alpha: 1 };
  };
  const behind = (element) => {
    if (element === null)
      return colourOf(getComputedStyle(document.documentElement).colorScheme.includes('dark') ? '#121212' : '#ffffff');
    const { backgroundColor } = styleOf(element);
    const own = colourOf(backgroundColor);
    return own.alpha === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = ({ red, green, blue }) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const found = [];
  const pairs = new Set();
  for (const element of elements) {
    if (element.closest('svg, [disabled]') !== null) continue;
    const back = behind(element);
    const { color } = styleOf(element);
    const pair = `${color} ${back.red} ${back.green} ${back.blue}`;
    if (pairs.has(pair)) continue;
    pairs.add(pair);
    const [a, b] = [light(over(colourOf(color), back)), light(back)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([element, ratio]);
  }
  return found;
}

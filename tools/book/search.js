/* How the book is searched: the same in a reader's browser and in the tests. */

/** Lists of changes come after what says how to use a thing. */
const boostDocument = (_id, _term, { address }) => (/^(?:project|index)\b/.test(address) ? 0.5 : 1);

/** Returns a search of sections: `[address, title of the page, heading, text, words of people]` each. */
globalThis.searchOf = (MiniSearch, sections) => {
  const index = new MiniSearch({
    fields: ['words', 'heading', 'title', 'text'],
    storeFields: ['address', 'heading', 'title', 'text'],
    searchOptions: { boost: { words: 12, heading: 4, title: 2 }, prefix: true, fuzzy: 0.1, combineWith: 'AND', boostDocument },
  });
  index.addAll(sections.map(([address, title, heading, text, words], id) => ({ id, address, title, heading, text, words })));
  return (query) => index.search(query);
};

/* How the book is searched: the same in a reader's browser and in the tests. */

/** Lists of changes come after what says how to use a thing. */
const boostDocument = (_id, _term, { address }) => (/^(?:project|index)\b/.test(address) ? 0.5 : 1);

/** Words of sentences that no page is about; they count only where every word of a query is found. */
const FILLERS = new Set(
  'a about after an and are as at be behind before but by can do does during for from has have how i if in is it my not of on or our so than that the their then there they this to was we what when where which while who why will with you your'.split(
    ' ',
  ),
);

/**
 * Returns a search of sections: `[address, title of the page, heading, text, words of people]` each. It answers the sections with all
 * words of the query; where there are none, those with all but fillers; else those with the most of them, the best first.
 */
globalThis.searchOf = (MiniSearch, sections) => {
  const index = new MiniSearch({
    fields: ['words', 'heading', 'title', 'text'],
    storeFields: ['address', 'heading', 'title', 'text'],
    searchOptions: { boost: { words: 12, heading: 4, title: 2 }, prefix: true, fuzzy: 0.1, combineWith: 'AND', boostDocument },
  });
  index.addAll(sections.map(([address, title, heading, text, words], id) => ({ id, address, title, heading, text, words })));
  const processTerm = (term) => (FILLERS.has(term.toLowerCase()) ? null : term.toLowerCase());
  return (query) => {
    for (const options of [{}, { processTerm }]) {
      const found = index.search(query, options);
      if (found.length > 0) return found;
    }
    const some = index.search(query, { processTerm, combineWith: 'OR' });
    return some.sort((a, b) => b.queryTerms.length - a.queryTerms.length || b.score - a.score);
  };
};

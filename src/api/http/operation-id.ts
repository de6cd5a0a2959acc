/** Names of operations, for programs that generate a client. */

const VERBS: ReadonlyMap<string, string> = new Map([
  ['get', 'get'],
  ['post', 'create'],
  ['put', 'replace'],
  ['patch', 'update'],
  ['delete', 'delete'],
]);

/**
 * The name that method and path make: `listPurchases`, `getPurchase`, `pollPurchase`, `getPurchaseInvoice`. It stays as
 * long as the path does.
 */
export function operationIdOf(method: string, path: string): string {
  const verb = VERBS.get(method) ?? method;
  const parts = path.split('/').filter((part) => part !== '' && part !== 'v1');
  const isParameter = parts.map((part) => part.startsWith('{'));
  const words = parts.map((part, index) => pascal(isParameter[index + 1] ? singular(part) : part));
  const named = words.filter((_, index) => !isParameter[index]);
  if (isParameter.at(-1)) return verb + named.join('');
  if (!isParameter.includes(true)) {
    const isCollection = named.length === 1 && parts[0]!.endsWith('s') && path.startsWith('/v1/');
    if (isCollection && method === 'get') return `list${named[0]}`;
    return verb + (isCollection && method === 'post' ? pascal(singular(parts[0]!)) : named.join(''));
  }
  // An action on one entry: what it does comes first.
  if (method === 'post') return lower(named.at(-1)!) + named.slice(0, -1).join('');
  return verb + named.join('');
}

function singular(word: string): string {
  return word.endsWith('ies') ? `${word.slice(0, -3)}y` : word.replace(/s$/, '');
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^a-z0-9]+)([a-z0-9])/gi, (_, letter: string) => letter.toUpperCase());
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

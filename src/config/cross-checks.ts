/** Contradictions between settings, each of which is fine by itself. */
import { sameKeyProblems } from './api-keys.ts';
import { channelProblems, unknownSites } from './channels.ts';
import type { Settings } from './settings.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

/** `siteNames` are all that were written, also those with problems of their own; so are the keys of `isKeyed`. */
export function crossChecks(settings: Settings, siteNames: readonly string[], { isKeyed }: { isKeyed: boolean }): string[] {
  const problems: string[] = [];
  if (!LOOPBACK.test(settings.host) && !isKeyed) {
    problems.push(
      `HOST: ${JSON.stringify(settings.host)} can be reached by others, and there is no key of the API; set API_KEY (make one with: openssl rand -hex 32) or api.keys, or use HOST=127.0.0.1`,
    );
  }
  problems.push(...sameKeyProblems(settings.apiKeys));
  if (settings.secretsKeyPrevious !== null && settings.secretsKeyPrevious === settings.secretsKey)
    problems.push('SECRETS_KEY_PREVIOUS: is the same as SECRETS_KEY; give the key that SECRETS_KEY replaces, or leave it out');
  if (settings.secretsKeyPrevious !== null && settings.secretsKey === null && settings.databaseUrl !== null)
    problems.push('SECRETS_KEY_PREVIOUS: there is no SECRETS_KEY that replaces it; set SECRETS_KEY');
  for (const site of settings.sites) {
    if (site.auth === 'basic' && site.clientId.includes(':')) {
      const where = siteNames.length === 1 && site.name === 'default' ? 'CHECKOUT_CLIENT_ID' : `sites.${site.name}.clientId`;
      problems.push(`${where}: ${JSON.stringify(site.clientId)} holds a colon, which HTTP Basic cannot send in a user name`);
    }
  }
  problems.push(...formerProblems(settings.sites, siteNames), ...amountProblems(settings));
  for (const subscriber of settings.subscribers) {
    problems.push(...unknownSites(`subscribers.${subscriber.name}`, subscriber.sites, siteNames));
  }
  problems.push(...channelProblems(settings.channels, siteNames));
  return problems;
}

/** An amount that is not stored cannot be compared. */
function amountProblems({ policy, store, sites }: Settings): string[] {
  const missing = ['Price', 'CurrencyCode'].filter((name) => !store.fields.some((field) => field === name));
  const written = [['polling', policy.atRisk] as const, ...sites.map(({ name, atRisk }) => [`sites.${name}`, atRisk] as const)];
  return written.flatMap(([where, rule]) =>
    missing.length > 0 && rule != null && Object.keys(rule.minimumAmount).length > 0
      ? [`${where}.atRisk.minimumAmount: store.fields does not name ${missing.join(' and ')}; add that, or take the amounts away`]
      : [],
  );
}

/** A former name is no site now, and of one site alone. */
function formerProblems(sites: Settings['sites'], siteNames: readonly string[]): string[] {
  const taken = new Map<string, string>();
  return sites.flatMap(({ name, formerly }) =>
    formerly.flatMap((former, index) => {
      const where = `sites.${name}.formerly[${index}]`;
      if (siteNames.includes(former)) return [`${where}: ${JSON.stringify(former)} is a site of its own; remove one of the two`];
      const other = taken.get(former);
      taken.set(former, name);
      return other === undefined
        ? []
        : [`${where}: ${JSON.stringify(former)} is a former name of ${other}, too; remove one of the two`];
    }),
  );
}

/** The Postgres that the package brings. Loaded only where no DATABASE_URL is set. */
export { startEmbedded } from '../../postgres/embedded/embedded.ts';
export { hasEmbedded } from '../../postgres/embedded/present.ts';

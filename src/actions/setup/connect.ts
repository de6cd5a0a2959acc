/** Connecting to the database for the length of a command, and why that failed. */
export { describeConnectionError, describeTarget } from '../../postgres/address/database-url.ts';
export { missingRight } from '../../postgres/address/missing-right.ts';
export { connectForCommand } from '../../postgres/connection/agreement.ts';
export { isUsable, schemaStatus } from '../../postgres/migrations/schema.ts';

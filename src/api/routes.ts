/** The HTTP API for programs. */
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Settings } from '../config/settings.ts';
import type { Health } from '../runtime/health.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Sql } from '../store/database.ts';

export interface ApiParts {
  readonly sql: Sql;
  readonly databaseUrl: string;
  readonly settings: Settings;
  readonly health: Health;
  readonly log: Logger;
}

export function createApi(_parts: ApiParts): OpenAPIHono {
  return new OpenAPIHono();
}

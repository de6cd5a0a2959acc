/**
 * The script that merchants write and that cron starts: select what is due, ask for each, a few at once, and update each. Here a
 * run begins as soon as the last one ended, so that no time is lost between runs.
 */
import pLimit from 'p-limit';
import pg from 'pg';
import type { PeerSettings } from '../settings.ts';
import type { Http } from './http.ts';
import { createRecorder } from './record.ts';

export function runScript({ databaseUrl, every }: PeerSettings, http: Http, atOnce: number): void {
  const pool = new pg.Pool({ connectionString: databaseUrl });
  const record = createRecorder(pool, every);
  const limit = pLimit(atOnce);
  const check = async (id: string): Promise<void> => {
    const event = await record(id, await http.poll(id));
    if (event !== null) await http.post(event);
  };
  const run = async (): Promise<void> => {
    const { rows } = await pool.query<{ id: string }>('select id from shop.purchases where due_at <= now() order by due_at');
    await Promise.all(rows.map(({ id }) => limit(() => check(id))));
  };
  const forever = async (): Promise<never> => {
    for (;;) await run();
  };
  void forever();
}

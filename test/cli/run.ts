import { PassThrough, Writable } from 'node:stream';
import { run } from '../../src/main.ts';

function text() {
  let written = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  return { stream, written: () => written };
}

/** Runs a command in this process, as a pipe would see it unless it is told that it has a terminal. */
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv = {}, { isTTY = false, stdin = '' } = {}) {
  const [stdout, stderr] = [text(), text()];
  const input = new PassThrough().end(stdin);
  const exitCode = await run(argv, { env, stdin: input, stdout: stdout.stream, stderr: stderr.stream, isTTY });
  return { exitCode, stdout: stdout.written(), stderr: stderr.written() };
}

/** Runs a command that goes on until a signal; `stop` sends one and answers the exit code. */
export function followCommand(argv: readonly string[], env: NodeJS.ProcessEnv, terminal?: { rows: number; columns: number }) {
  const [stdout, stderr] = [text(), text()];
  let send: (signal: NodeJS.Signals) => void = () => undefined;
  const ended = run(argv, {
    env,
    stdin: new PassThrough().end(),
    stdout: Object.assign(stdout.stream, terminal),
    stderr: stderr.stream,
    isTTY: terminal !== undefined,
    takeSignals: (handle) => {
      send = handle;
    },
  });
  const stop = (): Promise<number> => {
    send('SIGINT');
    return ended;
  };
  return { stdout: stdout.written, stderr: stderr.written, stop };
}

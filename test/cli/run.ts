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
export async function runCommand(argv: readonly string[], env: NodeJS.ProcessEnv = {}, { isTTY = false } = {}) {
  const [stdout, stderr] = [text(), text()];
  const exitCode = await run(argv, { env, stdin: new PassThrough().end(), stdout: stdout.stream, stderr: stderr.stream, isTTY });
  return { exitCode, stdout: stdout.written(), stderr: stderr.written() };
}

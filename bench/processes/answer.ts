/** A child's end of the line: answers calls by name until the process that started it goes away. */
import type { Handlers, Message, Usage } from './messages.ts';

export function answer(handlers: Handlers): void {
  const all: Handlers = { ...handlers, usage };
  process.on('message', ({ id, name, argument }: Message) => {
    Promise.resolve()
      .then(() => all[name]!(argument as never))
      .then(
        (result) => process.send!({ id, result }),
        (error: unknown) => process.send!({ id, error: error instanceof Error ? error.stack : String(error) }),
      );
  });
  process.on('disconnect', () => process.exit());
  // Ctrl-C reaches the whole group; the parent stops its children in order.
  process.on('SIGINT', () => {});
  process.send!({ id: 0, result: 'ready' });
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1_000, rss: process.memoryUsage.rss() };
}

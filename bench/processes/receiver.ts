/**
 * A webhook receiver. It says ok to everything, soon, late or never, or refuses connections; and it notes, if asked to,
 * what it got when. Several subscribers can share it, each with a path of its own.
 */
import { createServer, type Socket } from 'node:net';
import { answer } from './answer.ts';
import { requestFrames } from './frames.ts';
import { indexOf, machineTime, type Receipt } from './messages.ts';

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok');
const REFUSED = Buffer.from('HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nno');
const WEBHOOK_ID = /\r\nwebhook-id: *([^\r]*)/i;
let note = false;
let receipts: Receipt[] = [];
let received = 0;
/** Milliseconds from a request to its answer; 0: at once; null: never. */
let answerAfter: number | null = 0;
/** Webhooks whose body holds this id are refused, and not noted. */
let refused: string | null = null;
/** A path, and its requests without an answer so far. */
interface Target {
  readonly path: string;
  inFlight: number;
}
/** By how a request to it begins. */
const targets = new Map<string, Target>();
const sockets = new Set<Socket>();

const server = createServer({ noDelay: true }, (socket) => {
  sockets.add(socket);
  /** What this connection carries that has no answer yet: one, unless a client pipelines. */
  const open: Target[] = [];
  const respond = (): void => {
    const target = open.shift();
    if (target === undefined) return;
    target.inFlight -= 1;
    socket.write(OK);
  };
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    sockets.delete(socket);
    for (const target of open.splice(0)) target.inFlight -= 1;
  });
  socket.on(
    'data',
    requestFrames((head, body) => {
      received += 1;
      if (refused !== null && body.includes(refused)) return void socket.write(REFUSED);
      const target = targetOf(head);
      open.push(target);
      target.inFlight += 1;
      if (note) hear(target, head, body, machineTime());
      if (answerAfter === 0) respond();
      else if (answerAfter !== null) setTimeout(respond, answerAfter);
    }),
  );
});

function targetOf(head: Buffer): Target {
  const line = head.toString('latin1', 0, head.indexOf('\r\n'));
  let target = targets.get(line);
  if (target === undefined) {
    target = { path: line.split(' ')[1]!, inFlight: 0 };
    targets.set(line, target);
  }
  return target;
}

function hear(target: Target, head: Buffer, body: Buffer, at: number): void {
  const { type, data } = JSON.parse(body.toString()) as {
    type: string;
    data: { purchaseId: string; sequence: number; to: { value: number } };
  };
  if (type !== 'purchase.state_changed') return;
  const { purchaseId, sequence, to } = data;
  const id = WEBHOOK_ID.exec(head.toString('latin1'))?.[1] ?? '';
  const { path, inFlight } = target;
  receipts.push({ index: indexOf(purchaseId), state: to.value, at, path, id, sequence, inFlight });
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  answer({
    url: () => `http://127.0.0.1:${port}/events`,
    note: (wanted: boolean) => {
      note = wanted;
      receipts = [];
    },
    receipts: () => receipts,
    received: () => received,
    noted: () => receipts.length,
    refuseOnly: (id: string | null) => {
      refused = id;
    },
    answerAfter: (ms: number | null) => {
      answerAfter = ms;
    },
    /** Refuses connections from now on, and breaks off those that are there. */
    refuse: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    /** Takes connections again, on the same port. */
    accept: () => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve)),
  });
});

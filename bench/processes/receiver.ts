/** A webhook receiver that says ok to everything and notes, if asked to, which change it heard of when. */
import { createServer } from 'node:net';
import { answer } from './answer.ts';
import { requestFrames } from './frames.ts';
import { indexOf, machineTime, type Sighting } from './messages.ts';

const OK = Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok');
let note = false;
let heard: Sighting[] = [];
let received = 0;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => socket.destroy());
  socket.on(
    'data',
    requestFrames((_head, body) => {
      received += 1;
      if (note) {
        const at = machineTime();
        const { type, data } = JSON.parse(body.toString()) as {
          type: string;
          data: { purchaseId: string; to: { value: number } };
        };
        if (type === 'purchase.state_changed') heard.push({ index: indexOf(data.purchaseId), state: data.to.value, at });
      }
      socket.write(OK);
    }),
  );
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  answer({
    url: () => `http://127.0.0.1:${port}/events`,
    note: (wanted: boolean) => {
      note = wanted;
      heard = [];
    },
    heard: () => heard,
    received: () => received,
  });
});

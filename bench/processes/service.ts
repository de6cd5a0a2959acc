/**
 * The checkout service, as cheap as Node can be one: a poll that arrives in one piece, as nearly all do, is answered by
 * writing its id and state into bytes that are ready. The service must cost much less than its callers, or it would be what is
 * measured; the bench prints its share of a core.
 */
import { createServer, type Socket } from 'node:net';
import { answer } from './answer.ts';
import { requestFrames } from './frames.ts';
import { CYCLE, indexOf, machineTime, purchaseId, type Sighting } from './messages.ts';

export interface ServiceSettings {
  /** Every how-manieth poll of a purchase finds it in another state; 0: none. */
  readonly changeEvery: number;
  /** Whether changes, and the first poll of each purchase, are noted with their time. */
  readonly note: boolean;
}

/** As many as six hexadecimal digits tell apart. */
const PURCHASES = 1 << 24;
const ID_LENGTH = 36;
// Pages that no poll touches take no memory; to fill them with zeros would take it.
let polls = new Uint32Array(PURCHASES);
let moves = new Uint32Array(PURCHASES);
const firsts = new Map<number, number>();
let settings: ServiceSettings = { changeEvery: 0, note: false };
let changes: Sighting[] = [];
let answered = 0;

const STATUS = `{"PurchaseId":"${purchaseId(0)}","State":0,"Description":"Two shirts and a pair of shoes","Price":249.50,
"Created":"2026-11-20T10:12:31.1234567","BeingProcessed":"2026-11-20T10:12:58.7654321","Completed":null,"Cancelled":null,
"SiteCode":"BENCH-SE","CountryCode":"SWE","CurrencyCode":"SEK","AccountNumber":null,"AccountClassCode":null,
"InvoicingFirstName":"Vera","InvoicingLastName":"Provsson","InvoicingAddressLine1":"Provgatan 12","InvoicingAddressLine2":null,
"InvoicingZip":"123 45","InvoicingCity":"Provstad","InvoicingCountry":"Sverige","DeliveryFirstName":"Vera",
"DeliveryLastName":"Provsson","DeliveryAddressLine1":"Provgatan 12","DeliveryAddressLine2":null,"DeliveryZip":"123 45",
"DeliveryCity":"Provstad","DeliveryCountry":"Sverige","Phone":"+46700000000","Mail":"vera@example.com",
"OrderReference":"ORD-004711","AuthenticationType":1,"PaymentMethod":2,"IsRecurringPayment":false,"RecPmtToken":null,
"CardExpirationDate":null,"MaskedCardNumber":null,"CardBrand":null,"CustomerToken":null,"IsOrganization":false,
"ReferenceName":null,"CompanyName":null,"OrganizationNumber":null,"B2BAdditionalInfo":null,"NewsLetterValue":false,
"OfferedNewsLetterSettings":true,"NewsLetterSMSValue":false,"OfferedNewsLetterSMSSettings":false,"CustomerType":0,
"Attachment":null,"CustomerBalance":null}`.replaceAll('\n', '');
const HEAD = `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${STATUS.length}\r\n\r\n`;
const READY = Buffer.from(HEAD + STATUS, 'latin1');
const ID_AT = HEAD.length + '{"PurchaseId":"'.length;
const STATE_AT = ID_AT + ID_LENGTH + '","State":'.length;

const TOKEN = '{"access_token":"bench","token_type":"Bearer","expires_in":86400}';
const TOKEN_ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${TOKEN.length}\r\n\r\n${TOKEN}`;

/** The body of a poll, which is what its request ends with. */
const BODY_LENGTH = purchaseId(0).length + '{"PurchaseId":""}'.length;
const ID_IN_BODY = '{"PurchaseId":"'.length;

/** Answers a purchase's poll: counts it, moves the purchase on when it is time to, and gives its state. */
function poll(index: number): number {
  const { changeEvery, note } = settings;
  answered += 1;
  polls[index]! += 1;
  if (note && polls[index] === 1) firsts.set(index, machineTime());
  if (changeEvery > 0 && (polls[index]! + index) % changeEvery === 0) {
    moves[index]! += 1;
    const state = CYCLE[moves[index]! % CYCLE.length]!;
    if (note) changes.push({ index, state, at: machineTime() });
    return state;
  }
  return CYCLE[moves[index]! % CYCLE.length]!;
}

/** The last six digits are enough for as many purchases as there are. */
function indexAt(bytes: Buffer, end: number): number {
  let index = 0;
  for (let at = end - 6; at < end; at++) {
    const byte = bytes[at]!;
    index = index * 16 + (byte < 0x40 ? byte - 0x30 : byte - 0x57);
  }
  return index;
}

const server = createServer({ noDelay: true }, (socket: Socket) => {
  // One connection carries one request at a time, so its bytes can be used again.
  const reply = Buffer.from(READY);
  const respond = (id: Buffer, index: number): void => {
    id.copy(reply, ID_AT);
    reply[STATE_AT] = 0x30 + poll(index);
    socket.write(reply);
  };
  let whole = true;
  const frames = requestFrames((head, body) => {
    whole = true;
    if (!head.includes('GetPaymentStatus')) return void socket.write(TOKEN_ANSWER);
    const id = JSON.parse(body.toString()).PurchaseId as string;
    respond(Buffer.from(id), indexOf(id));
  });
  socket.on('data', (chunk: Buffer) => {
    const body = chunk.length - BODY_LENGTH;
    // `POST /C`, and a blank line right before a body of the right length.
    if (whole && body > 4 && chunk[6] === 0x43 && chunk[body - 1] === 0x0a && chunk[body - 3] === 0x0a && chunk[body] === 0x7b) {
      const id = chunk.subarray(body + ID_IN_BODY, body + ID_IN_BODY + ID_LENGTH);
      respond(id, indexAt(id, ID_LENGTH));
      return;
    }
    whole = false;
    frames(chunk);
  });
  socket.on('error', () => socket.destroy());
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  answer({
    url: () => `http://127.0.0.1:${port}`,
    set: (next: ServiceSettings) => {
      settings = next;
      changes = [];
      firsts.clear();
    },
    /** Purchases begin again, for another bench. */
    reset: () => {
      polls = new Uint32Array(PURCHASES);
      moves = new Uint32Array(PURCHASES);
      changes = [];
      firsts.clear();
    },
    /** The first so many purchases are in their next state from now on, however often they are polled. */
    move: (count: number) => {
      for (let index = 0; index < count; index++) moves[index]! += 1;
    },
    answered: () => answered,
    changes: () => changes,
    firsts: () => [...firsts].map(([index, at]) => ({ index, at })),
    bytes: () => STATUS.length,
  });
});

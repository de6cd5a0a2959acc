/** Reads what another program sends to its end, or no further than it may be long. */

/** All of it, or null when it is longer than `most` bytes: then the rest is not read, and an answer's connection is closed. */
export async function readUpTo(stream: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > most) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The header, as a name and a value, that asks for answers as they are: unpacking a compressed one could take any amount of memory. */
export const UNPACKED = ['accept-encoding', 'identity'] as const;

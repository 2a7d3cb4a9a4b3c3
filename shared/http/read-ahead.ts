import type { Duplex } from 'node:stream'

/**
 * Bounds what a paused socket reads ahead to one piece, 64 KiB. Without this it reads up to the `highWaterMark` of SERVER_OPTIONS, 512 KiB,
 * which node:net applies to both directions. The pieces lie outside of the heap. Those that wait outlive young collections, so the engine
 * collects the whole heap to free them: eight clients that flooded a port cost the agent 1.5 pauses of 30 ms each second.
 */
export function boundReadAhead(socket: Duplex): void {
  // node:net has no option for one direction, and no setter.
  const { _readableState: state } = socket as unknown as { _readableState: { highWaterMark: number } }
  // Any piece is enough: below its mark a socket reads another, so with a mark of 64 KiB a short one would be followed by a long one.
  state.highWaterMark = 1
}

/** The most that one read takes from the kernel (libuv). */
export const READ_AHEAD_BYTES = 64 * 1024

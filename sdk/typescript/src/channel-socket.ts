import type { Message } from './inbox.ts'
import type { MessageSocket } from './message-socket.ts'

/** Channels of `v5.channel.k8s.io`. The first byte of a frame names one. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, agent: 5, close: 255 } as const
export const CHANNEL_PROTOCOL = 'v5.channel.k8s.io'

export interface Frame {
  channel: number
  bytes: Uint8Array
}

/** A WebSocket that carries channels. */
export interface ChannelSocket extends Pick<MessageSocket, 'id' | 'closed' | 'close'> {
  /** Sends a frame and waits until it is on its way. */
  send(channel: number, bytes: Uint8Array): Promise<void>
  /** Returns the next frame, or null after the last one of a closed socket. */
  receive(): Promise<Frame | null>
  /** Returns the next frame if it has arrived, without waiting. */
  receiveReady(): Frame | null
}

/** Creates the channels of a socket that was opened with CHANNEL_PROTOCOL. */
export function channelsOf(socket: MessageSocket): ChannelSocket {
  const { id, closed, close } = socket
  return {
    ...{ id, closed, close },
    send: (channel, bytes) => socket.send(frameOf(channel, bytes)),
    receive: async () => toFrame(await socket.receive()),
    receiveReady: () => toFrame(socket.receiveReady()),
  }
}

function toFrame(message: Message | null): Frame | null {
  if (message === null) return null
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message
  return { channel: bytes[0] ?? CHANNEL.close, bytes: bytes.subarray(1) }
}

function frameOf(channel: number, bytes: Uint8Array): Uint8Array {
  const frame = new Uint8Array(bytes.length + 1)
  frame[0] = channel
  frame.set(bytes, 1)
  return frame
}

import type { Connection, ServerChannel } from 'ssh2'

/** Opens a channel to the agent of a client that forwards one. @throws Error if the client refuses */
export type AgentOpener = () => Promise<ServerChannel>

/**
 * Returns a function that opens channels to the client's agent (`auth-agent@openssh.com`), which ssh2 lacks for servers. Null if ssh2 lacks
 * the private parts of its version 1.17.
 */
export function agentOpenerOf(client: Connection): AgentOpener | null {
  const { _protocol: protocol, _chanMgr: channels } = client as Connection & PrivateParts
  if (typeof protocol?.openssh_authAgent !== 'function' || typeof channels?.add !== 'function') return null
  return () =>
    new Promise((resolve, reject) => {
      const opened = (error: Error | undefined, channel: ServerChannel): void => {
        if (error) reject(error)
        else resolve(channel)
      }
      // ssh2 marks its own requests the same way.
      const id = channels.add(Object.assign(opened, { type: CHANNEL_TYPE }))
      if (id === -1) return reject(new Error('The client has no more channels.'))
      protocol.openssh_authAgent(id, WINDOW_BYTES, PACKET_BYTES)
    })
}

interface PrivateParts {
  _protocol?: { openssh_authAgent(channel: number, windowBytes: number, packetBytes: number): void }
  _chanMgr?: { add(opened: (error: Error | undefined, channel: ServerChannel) => void): number }
}

const CHANNEL_TYPE = 'auth-agent@openssh.com'
/** The sizes of ssh2's other channels. */
const WINDOW_BYTES = 2 * 1024 ** 2
const PACKET_BYTES = 32 * 1024

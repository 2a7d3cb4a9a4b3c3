import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import ssh2, { type AuthContext, type Connection, type ParsedKey } from 'ssh2'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { accountOf } from '../files/accounts.ts'
import { agentOpenerOf } from './agent-channels.ts'
import { createDrafts, type Drafts } from './drafts.ts'
import { serveForward } from './forwards.ts'
import type { SshGuest } from './guest.ts'
import type { SshKeys } from './keys.ts'
import { quickenCiphers } from './packet-ciphers.ts'
import { parsePrivateKey } from './private-keys.ts'
import { serveSession } from './sessions.ts'

export interface SshServed {
  boxyard: Boxyard
  box: BoxHandle
  /** The host name by which the client reached the box. */
  hostName: string
  keys: SshKeys
  /** The users of the box, read during the handshake. Rejects if the box does not exist. */
  passwd: Promise<string>
  /** Reports to the user of the client what the protocol cannot express. */
  tell(message: string): void
}

/**
 * Speaks the server's side of SSH on a stream, for one connection to a box. Nothing listens, and the box only runs what the client asks
 * for. Accepts only our client key. Returns once the stream has closed.
 * @throws ApiError, ConnectionError if the box does not exist
 */
export async function serveSsh(transport: Duplex, served: SshServed): Promise<void> {
  const { keys, passwd } = served
  const gone = new AbortController()
  const drafts = createDrafts()
  let refusal: Error | null = null
  // Accepts no client before it is known.
  passwd.catch((error: unknown) => {
    refusal = error instanceof Error ? error : new Error(String(error))
    transport.destroy()
  })
  const clientKey = parsePrivateKey(keys.clientKey)
  const server = new ssh2.Server({
    hostKeys: [keys.hostKey],
    // CPUs have AES instructions, and ChaCha20 is far slower without native code.
    algorithms: { cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'] },
    // Like sshd, does not cut off a client that was suspended.
    keepaliveInterval: NEVER_MS,
  })
  server.on('connection', (client) => serveClient(client, { served, transport, clientKey, drafts, gone: gone.signal }))
  const closed = new Promise<void>((resolve) => transport.once('close', resolve))
  transport.on('error', () => undefined).once('end', () => transport.destroy())
  // The type asks for a socket, but ssh2 uses only members of any stream.
  server.injectSocket(transport as Socket)
  await closed
  gone.abort()
  drafts.remove()
  // TypeScript infers the type from the assignment above, which runs in another turn of the event loop.
  if (refusal !== null) throw refusal as Error
}

interface ClientDeps {
  served: SshServed
  transport: Duplex
  clientKey: ParsedKey
  drafts: Drafts
  gone: AbortSignal
}

// ssh2 itself refuses forwards to the client, of ports and X11. This server never asks for them.
function serveClient(client: Connection, { served, transport, clientKey, drafts, gone }: ClientDeps): void {
  const { boxyard, box, hostName, passwd, tell } = served
  let user = 'root'
  const guest: SshGuest = {
    boxyard,
    box,
    drafts,
    openAgent: agentOpenerOf(client),
    user: () => user,
    account: async () => accountOf(await passwd, user),
  }
  // ssh2 would only end its direction, and OpenSSH would wait forever.
  client.on('error', ({ level, message }: Error & { level?: string }) => {
    if (level !== 'socket' && !gone.aborted) tell(`The connection is closed: ${message}`)
    transport.destroy()
  })
  client.on('handshake', () => quickenCiphers(client, transport))
  client.on('rekey', () => quickenCiphers(client, transport))
  client.on('authentication', (context) => {
    user = context.username
    void authenticate(context, clientKey, passwd)
  })
  client.on('session', (accept) => serveSession(accept(), guest, gone))
  client.on('tcpip', (accept, reject, { destIP: host, destPort: port }) => {
    void serveForward({ host, port, accept, reject }, { box, hostName, gone, tell })
  })
}

async function authenticate(context: AuthContext, clientKey: ParsedKey, known: Promise<unknown>): Promise<void> {
  if (context.method !== 'publickey' || !clientKey.getPublicSSH().equals(context.key.data))
    return context.reject(['publickey'])
  const { signature, blob, hashAlgo } = context
  // Without a signature the client only asks whether the key would be accepted.
  const isSigned =
    signature === undefined || (blob !== undefined && clientKey.verify(blob, signature, hashAlgo) === true)
  if (!isSigned) return context.reject(['publickey'])
  await known.then(
    () => context.accept(),
    () => context.reject([]),
  )
}

const NEVER_MS = 2_147_483_647

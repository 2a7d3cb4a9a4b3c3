import { createHash, createHmac } from 'node:crypto'
import type { ChannelKey } from '../../shared/auth/channel.ts'
import type { TokenKeySet } from '../../shared/auth/keys.ts'

/**
 * Returns the keys by which the agents of a fleet authenticate each other. They derive from the current private token keys, which all
 * agents have. The functions have the channel's keys, but not these.
 */
export function createPeerKeys(tokenKeys: () => TokenKeySet): () => readonly ChannelKey[] {
  let made: { of: TokenKeySet; keys: ChannelKey[] } | null = null
  return () => {
    const set = tokenKeys()
    if (made?.of !== set) made = { of: set, keys: set.keys.flatMap(peerKeyOf) }
    return made.keys
  }
}

function peerKeyOf({ kid, d }: TokenKeySet['keys'][number]): ChannelKey[] {
  if (d === undefined) return []
  const id = createHash('sha256').update(kid).digest('hex').slice(0, 16)
  const secret = createHmac('sha256', Buffer.from(d, 'base64url')).update('boxyard-cells').digest('base64url')
  return [{ id, secret }]
}

/** Returns the recipient in signatures of requests to a cell, so that no other cell accepts them. */
export function peerIdOf(cell: string): string {
  return `cell ${cell}`
}

import { createHash, createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ChannelKey } from '../../../shared/auth/channel.ts'
import { fingerprintOf } from './certificates.ts'
import type { CellSide } from './config-cells.ts'
import type { edgePaths } from './names.ts'

/** How an edge and the edges of the other cells of its fleet reach each other. */
export interface CellSideOptions {
  /** Address to listen on. */
  host: string
  /** 0 for a free port, kept over restarts. */
  port: number
  /** Files (PEM) of mutual TLS. Null for none. */
  tls: { ca: string; cert: string; key: string } | null
  /** Keys of the channel, which all cells of the fleet have. Edges identify each other by them. */
  keys(): readonly ChannelKey[]
}

/** Returns the current settings, and writes certificate and key to one file. @throws Error that names an unreadable file */
export function cellSideOf(
  { host, tls, keys }: CellSideOptions,
  { port, paths }: { port: number; paths: ReturnType<typeof edgePaths> },
): CellSide {
  const secrets = keys().map(secretOf)
  if (tls !== null)
    writeFileSync(paths.cellPem, Buffer.concat([readFileSync(tls.cert), Buffer.from('\n'), readFileSync(tls.key)]), {
      mode: 0o600,
    })
  return {
    host,
    port,
    map: paths.cells,
    secrets,
    digests: secrets.map((secret) => createHash('sha256').update(secret).digest('hex')),
    tls: tls && { authority: tls.ca, own: paths.cellPem, fingerprint: fingerprintOf([tls.ca, paths.cellPem]) },
  }
}

/** Derives the secret that edges show each other from a key of the channel, without revealing the key. */
function secretOf({ secret }: ChannelKey): string {
  return createHmac('sha256', Buffer.from(secret, 'base64url')).update(PURPOSE).digest('hex')
}

const PURPOSE = 'boxyard: edges of a fleet'

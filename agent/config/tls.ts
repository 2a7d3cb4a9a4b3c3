/** Files of mutual TLS. */
export interface ChannelTlsFiles {
  ca: string
  cert: string
  key: string
}

/** Where tickets are redeemed. `url` is published to clients. Null: the address listened on. */
export interface DataListener {
  host: string
  port: number
  url: string | null
  tls: { cert: string; key: string } | null
}

interface ChannelVariables {
  BOXYARD_CHANNEL_CA?: string | undefined
  BOXYARD_CHANNEL_CERT?: string | undefined
  BOXYARD_CHANNEL_KEY?: string | undefined
}

interface DataVariables {
  BOXYARD_DATA_HOST: string
  BOXYARD_DATA_PORT: number
  BOXYARD_DATA_URL?: string | undefined
  BOXYARD_DATA_CERT?: string | undefined
  BOXYARD_DATA_KEY?: string | undefined
}

/**
 * Returns the paths of mutual TLS on the channel. Null for none.
 * @throws Error if some of them are missing
 */
export function channelTlsOf(env: ChannelVariables): ChannelTlsFiles | null {
  const { BOXYARD_CHANNEL_CA: ca, BOXYARD_CHANNEL_CERT: cert, BOXYARD_CHANNEL_KEY: key } = env
  if (ca === undefined && cert === undefined && key === undefined) return null
  if (ca === undefined || cert === undefined || key === undefined) {
    throw new Error('BOXYARD_CHANNEL_CA, BOXYARD_CHANNEL_CERT and BOXYARD_CHANNEL_KEY: set all or none.')
  }
  return { ca, cert, key }
}

/**
 * Returns where the data address listens, and the address that clients get.
 * @throws Error if only one of certificate and key is given
 */
export function dataOf(env: DataVariables): DataListener {
  const { BOXYARD_DATA_CERT: cert, BOXYARD_DATA_KEY: key } = env
  if ((cert === undefined) !== (key === undefined)) {
    throw new Error('BOXYARD_DATA_CERT and BOXYARD_DATA_KEY: set both or neither.')
  }
  const tls = cert === undefined || key === undefined ? null : { cert, key }
  return { host: env.BOXYARD_DATA_HOST, port: env.BOXYARD_DATA_PORT, url: env.BOXYARD_DATA_URL ?? null, tls }
}

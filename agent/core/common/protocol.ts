import type { BoxRecord } from '../../ports/store/boxes.ts'

/** Returns the protocol of a port as records have it: absent for HTTP/1.1, as in those of earlier versions. */
export function storedProtocol(protocol: 'http' | 'h2c' | null | undefined): BoxRecord['protocol'] {
  return protocol === 'h2c' ? protocol : undefined
}

import type { BoxRecord } from '../../ports/store/boxes.ts'

/** Returns the protocol of a port in the form of records: absent for HTTP/1.1, as in records of earlier versions. */
export function storedProtocol(protocol: 'http' | 'h2c' | null | undefined): BoxRecord['protocol'] {
  return protocol === 'h2c' ? protocol : undefined
}

import {
  bodyRefusal,
  CLIENT_ADDRESS_HEADER,
  type Refusal,
  signedHeaders,
  type Verifier,
} from '../../shared/auth/channel.ts'
import { openSealed } from '../../shared/auth/sealed-body.ts'
import { type HttpRequest, headerOf } from '../../shared/http/messages.ts'

/** The trusted parts of a request. */
export interface Trusted {
  isAccepted: true
  headers: Record<string, string>
  clientAddress: string
  /** Verifies the body, before it is used. Null: it is the one that was signed. */
  refuseBody(body: Uint8Array): Refusal | null
  /** Verifies a body while it streams. Null: it must be read whole. */
  openBody: ((pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | null
}

/** The head of a request. */
export type RequestHead = Pick<HttpRequest, 'method' | 'target' | 'headers' | 'clientAddress'>

/** Verifies the head of a request. */
export type Trust = (request: RequestHead) => Trusted | Refusal

/** Trusts only what the functions have signed. */
export function trustSigned(verify: Verifier): Trust {
  return (request) => {
    const verdict = verify(request)
    if (!verdict.isAccepted) return verdict
    const { headers, bodyMac } = verdict
    return {
      isAccepted: true,
      headers,
      clientAddress: headers[CLIENT_ADDRESS_HEADER] ?? '',
      refuseBody: (body) => (verdict.matchesBody(body) ? null : bodyRefusal(verdict)),
      openBody: bodyMac === null ? null : (pieces) => openSealed(pieces, bodyMac(), lengthOf(request)),
    }
  }
}

// The length is not signed. It only locates the seal.
function lengthOf({ headers }: RequestHead): number | null {
  const length = headerOf(headers, 'content-length')
  return length === undefined ? null : Number(length)
}

/** Trusts a client's own headers, since a ticket or token is the client's only authority. */
export function trustSender(request: RequestHead): Trusted {
  const { [CLIENT_ADDRESS_HEADER]: _claimed, ...headers } = signedHeaders(request.headers)
  const { clientAddress } = request
  return { isAccepted: true, headers, clientAddress, refuseBody: () => null, openBody: (pieces) => pieces }
}

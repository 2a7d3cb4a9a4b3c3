import {
  bodyRefusal,
  CLIENT_ADDRESS_HEADER,
  type Refusal,
  signedHeaders,
  type Verifier,
} from '../../shared/auth/channel.ts'
import { openSealed } from '../../shared/auth/sealed-body.ts'
import { type HttpRequest, headerOf } from '../../shared/http/messages.ts'

/** What may be believed of a request. */
export interface Trusted {
  isAccepted: true
  headers: Record<string, string>
  clientAddress: string
  /** Why these bytes are not the body that was meant; null: they are. To be asked before they are used. */
  refuseBody(body: Uint8Array): Refusal | null
  /** Reads the body as it comes, where it need not be known whole; null: it must. */
  openBody: ((pieces: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | null
}

/** The head of a request. */
export type RequestHead = Pick<HttpRequest, 'method' | 'target' | 'headers' | 'clientAddress'>

/** Judges the head of a request. */
export type Trust = (request: RequestHead) => Trusted | Refusal

/** Believes what the functions have signed, and nothing else. */
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

// What it says is not signed: it only tells where the seal is to be looked for.
function lengthOf({ headers }: RequestHead): number | null {
  const length = headerOf(headers, 'content-length')
  return length === undefined ? null : Number(length)
}

/** Believes whoever sends it for itself: its ticket, or its token, is all the authority it has. */
export function trustSender(request: RequestHead): Trusted {
  const { [CLIENT_ADDRESS_HEADER]: _claimed, ...headers } = signedHeaders(request.headers)
  const { clientAddress } = request
  return { isAccepted: true, headers, clientAddress, refuseBody: () => null, openBody: (pieces) => pieces }
}

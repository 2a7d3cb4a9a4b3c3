import type { HostRule } from '../http/known-hosts.ts'
import { type HeaderMap, splitTarget } from '../http/messages.ts'
import type { Matcher } from '../match.ts'
import { takesTicket } from '../operation.ts'
import { splitTicket } from './ticket-target.ts'

/**
 * Returns the test for authority that a page of an unknown host cannot have. This is a token that `verify` accepts, or a ticket for an
 * operation that takes one. A session does not count, because browsers keep it. Nor does a sign-in link.
 */
export function hostAuthority({
  verify,
  match,
}: {
  /** Rejects for a missing or wrong token. */
  verify(headers: HeaderMap): Promise<unknown>
  match: Matcher
}): HostRule['isAuthorized'] {
  return async ({ method, target, headers }) => {
    if (headers['authorization'] !== undefined)
      return verify(headers).then(
        () => true,
        () => false,
      )
    const { target: plain, ticket } = splitTicket(target)
    if (ticket === null) return false
    try {
      return takesTicket(match(method, splitTarget(plain).pathname).operation)
    } catch {
      return false
    }
  }
}

import type { HttpRequest } from '../shared/http/messages.ts'
import { sourceKey } from '../shared/http/source-key.ts'
import type { Match } from '../shared/match.ts'
import type { Progress } from './reception.ts'

/**
 * Returns the key under which a request shares the front's resources. This is its project, or the chain of its token if it has no project
 * or names all (`-`). Without a verified token, for example with a ticket, which the agent checks, it is the source address.
 */
export function ownerOf(
  { params }: Pick<Match, 'params'>,
  { clientAddress }: Pick<HttpRequest, 'clientAddress'>,
  { claims }: Progress,
): string {
  if (claims === null) return `address ${sourceKey(clientAddress)}`
  // Requests for all projects of a token share with no other token.
  return params['project'] === undefined || params['project'] === '-'
    ? `token ${claims.root ?? claims.jti}`
    : `project ${params['project']}`
}

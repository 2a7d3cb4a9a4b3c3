import type { HttpRequest } from '../shared/http/messages.ts'
import { sourceKey } from '../shared/http/source-key.ts'
import type { Match } from '../shared/match.ts'
import type { Progress } from './reception.ts'

/**
 * Returns the key by which a request shares what the front has for all: the project that it is for, or the chain of its token, where it
 * is for none or for all (`-`); without a verified token, as with a ticket, which the agent checks, its source address.
 */
export function ownerOf(
  { params }: Pick<Match, 'params'>,
  { clientAddress }: Pick<HttpRequest, 'clientAddress'>,
  { claims }: Progress,
): string {
  if (claims === null) return `address ${sourceKey(clientAddress)}`
  // Nobody else shares what one asks of all of its projects.
  return params['project'] === undefined || params['project'] === '-'
    ? `token ${claims.root ?? claims.jti}`
    : `project ${params['project']}`
}

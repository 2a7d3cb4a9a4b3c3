import { splitTicket } from '../../shared/auth/ticket-target.ts'
import { givenRequestId, type HttpRequest } from '../../shared/http/messages.ts'
import { newId } from '../../shared/ids.ts'
import type { Operation } from '../../shared/operation.ts'
import type { Caller } from '../core/common/caller.ts'

/** What is known of a request so far, for its audit line. */
export interface RequestFacts {
  requestId: string
  method: string
  /** Without its ticket. */
  target: string
  operation: Operation | null
  /** That the path names. */
  project: string | null
  caller: Caller | null
  clientAddress: string
  startedAt: number
}

/** The facts of a request that nothing is known of yet. */
export function newFacts(request: Pick<HttpRequest, 'method' | 'target' | 'headers'>, now: number): RequestFacts {
  return {
    requestId: givenRequestId(request.headers) ?? newId('req', now),
    method: request.method,
    target: splitTicket(request.target).target,
    operation: null,
    project: null,
    caller: null,
    clientAddress: '',
    startedAt: now,
  }
}

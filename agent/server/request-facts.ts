import { splitTicket } from '../../shared/auth/ticket-target.ts'
import { givenRequestId, type HttpRequest } from '../../shared/http/messages.ts'
import { newId } from '../../shared/ids.ts'
import type { Operation } from '../../shared/operation.ts'
import type { Caller } from '../core/common/caller.ts'
import type { RegisteredRequest } from './open-requests.ts'

/** The details of a request for log, metrics and audit, filled in as they become known. */
export interface RequestFacts {
  requestId: string
  method: string
  /** Path and query, without the ticket. */
  target: string
  operation: Operation | null
  /** The project in the path. */
  project: string | null
  caller: Caller | null
  /** Its place among the open requests of its token. Null before it is known. */
  open: RegisteredRequest | null
  clientAddress: string
  startedAt: number
  /** Program and arguments that it runs. Null: none, or not known yet. */
  command: readonly string[] | null
}

/** Creates the details of a request that was just received. */
export function newFacts(request: Pick<HttpRequest, 'method' | 'target' | 'headers'>, now: number): RequestFacts {
  return {
    requestId: givenRequestId(request.headers) ?? newId('req', now),
    method: request.method,
    target: splitTicket(request.target).target,
    operation: null,
    project: null,
    caller: null,
    open: null,
    clientAddress: '',
    startedAt: now,
    command: null,
  }
}

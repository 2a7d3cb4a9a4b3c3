import { ServiceError } from '../../../shared/errors.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import type { Consoles } from '../../core/exec/consoles.ts'
import type { Execs } from '../../core/exec/execs.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { Handlers, StreamHandlers } from '../common/call.ts'

type SessionHandlers = Pick<Handlers, 'listSessions' | 'deleteSession'>

/** Commands and consoles over WebSockets. */
export function createStreamHandlers(deps: { boxes: Boxes; execs: Execs; consoles: Consoles }): StreamHandlers {
  const { boxes, execs, consoles } = deps
  return {
    streamExec: async ({ params, query, boundBoxId }) =>
      execs.stream(checkBound(await boxes.get(params), boundBoxId), query),
    openConsole: async ({ params, query, boundBoxId }) =>
      consoles.open(checkBound(await boxes.get(params), boundBoxId), query),
  }
}

/** The sessions of consoles over HTTP. */
export function createSessionHandlers({ boxes, consoles }: { boxes: Boxes; consoles: Consoles }): SessionHandlers {
  return {
    listSessions: async ({ params }) => {
      const sessions = await consoles.list(await boxes.get(params))
      return { body: { sessions, has_more: false, next_continuation_token: null } }
    },
    deleteSession: async ({ params }) => {
      await consoles.end(await boxes.get(params), params.session)
      return { body: null }
    },
  }
}

/**
 * Refuses a box that has the name now, where a ticket was for another that had it then.
 * @throws ServiceError `box_not_found`
 */
export function checkBound(box: BoxRecord, boundBoxId: string | null): BoxRecord {
  if (boundBoxId === null || boundBoxId === box.id) return box
  throw new ServiceError('box_not_found', 'The box that the ticket was for is gone.')
}

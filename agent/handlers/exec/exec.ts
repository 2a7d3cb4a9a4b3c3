import { ServiceError } from '../../../shared/errors.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import type { Consoles } from '../../core/exec/consoles.ts'
import type { Execs } from '../../core/exec/execs.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Handlers, ReplayRead, StreamHandlers } from '../common/call.ts'
import { viewExec, viewExecRecord, viewOutput, viewSession } from './view.ts'

type ExecHandlers = Pick<Handlers, 'createExec' | 'listExecs' | 'getExec' | 'getExecOutput' | 'signalExec'>
type SessionHandlers = Pick<Handlers, 'listSessions' | 'deleteSession'>

/** Handles commands over HTTP. */
export function createExecHandlers(deps: { boxes: Boxes; execs: Execs }): ExecHandlers {
  const { boxes, execs } = deps
  return {
    createExec: async ({ params, query, body, remember }) => {
      const box = await boxes.get(params)
      const encoding = body.encoding ?? 'utf-8'
      const waitSeconds = query.wait_seconds ?? (body.no_hup === true ? 0 : WAIT_SECONDS)
      const readOf = (exec: string): ReplayRead & { location: string } => ({
        operation: 'getExec',
        params: { ...params, exec },
        query: { wait_seconds: waitSeconds, encoding },
        location: `/v1/projects/${params.project}/boxes/${params.name}/exec/${exec}`,
      })
      const waitMs = waitSeconds * 1000
      const { record, output } = await execs.run(box, body, { waitMs, onRecorded: (id) => remember(readOf(id)) })
      const view = viewExec(record, output, encoding)
      const replayRead = readOf(record.id)
      if (record.status !== 'running') return { body: view, replayRead }
      return { status: 202, body: view, headers: { 'operation-location': replayRead.location }, replayRead }
    },
    listExecs: async ({ params, query }) => {
      const { records, next } = await execs.list(await boxes.get(params), query)
      const views = records.map(viewExecRecord)
      return { body: { execs: views, has_more: next !== null, next_continuation_token: next } }
    },
    getExec: async ({ params, query }) => {
      const box = await boxes.get(params)
      const { record, output } = await execs.get(box, params.exec, query.wait_seconds * 1000)
      return { body: viewExec(record, output, query.encoding) }
    },
    getExecOutput: async ({ params, query }) => {
      const piece = await execs.output(await boxes.get(params), params.exec, query)
      return { body: viewOutput(piece, query.stream, query.encoding) }
    },
    signalExec: async ({ params, body }) => {
      const record = await execs.signal(await boxes.get(params), params.exec, body.signal)
      return { body: viewExecRecord(record) }
    },
  }
}

type CommandHandlers = Pick<StreamHandlers, 'streamExec' | 'openConsole'>

/** Handles commands and consoles over WebSockets. */
export function createCommandHandlers(deps: { boxes: Boxes; execs: Execs; consoles: Consoles }): CommandHandlers {
  const { boxes, execs, consoles } = deps
  return {
    streamExec: async ({ params, query, boundBoxId, execId }) =>
      execs.stream(checkBound(await boxes.get(params), boundBoxId), query, execId),
    openConsole: async ({ params, query, boundBoxId }) =>
      consoles.open(checkBound(await boxes.get(params), boundBoxId), query),
  }
}

/** Handles console sessions over HTTP. */
export function createSessionHandlers({ boxes, consoles }: { boxes: Boxes; consoles: Consoles }): SessionHandlers {
  return {
    listSessions: async ({ params }) => {
      const box = await boxes.get(params)
      const sessions = (await consoles.list(box)).map((each) => viewSession(box, each))
      return { body: { sessions, has_more: false, next_continuation_token: null } }
    },
    deleteSession: async ({ params }) => {
      await consoles.end(await boxes.get(params), params.session)
      return { body: null }
    },
  }
}

/**
 * Throws if a ticket was for another box that had this name before.
 * @throws ServiceError `box_not_found`
 */
export function checkBound(box: BoxRecord, boundBoxId: string | null): BoxRecord {
  if (boundBoxId === null || boundBoxId === box.id) return box
  throw new ServiceError('box_not_found', 'The box of the ticket was deleted.')
}

const WAIT_SECONDS = 20

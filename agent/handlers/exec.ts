import type { Boxes } from '../core/boxes.ts'
import { viewExec } from '../core/exec-view.ts'
import type { Execs } from '../core/execs.ts'
import type { Handlers, ReplayRead } from './call.ts'

/** Commands over HTTP. */
export function createExecHandlers(deps: { boxes: Boxes; execs: Execs }): Pick<Handlers, 'createExec' | 'getExec'> {
  const { boxes, execs } = deps
  return {
    createExec: async ({ params, query, body, remember }) => {
      const box = await boxes.get(params)
      const encoding = body.encoding ?? 'utf-8'
      const readOf = (exec: string): ReplayRead => ({
        operation: 'getExec',
        params: { ...params, exec },
        query: { wait_seconds: query.wait_seconds, encoding },
      })
      const waitMs = query.wait_seconds * 1000
      const { record, output } = await execs.run(box, body, { waitMs, onRecorded: (id) => remember(readOf(id)) })
      const path = `/v1/projects/${params.project}/boxes/${params.name}/exec/${record.id}`
      const view = viewExec(record, output, encoding)
      const replayRead = readOf(record.id)
      if (record.status !== 'running') return { body: view, replayRead }
      return { status: 202, body: view, headers: { 'operation-location': path }, replayRead }
    },
    getExec: async ({ params, query }) => {
      const box = await boxes.get(params)
      const { record, output } = await execs.get(box, params.exec, query.wait_seconds * 1000)
      return { body: viewExec(record, output, query.encoding) }
    },
  }
}

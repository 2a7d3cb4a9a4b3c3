import { checkReadOnly } from '../../core/common/preconditions.ts'
import type { Attachments } from '../../core/volumes/attachments.ts'
import { type VolumeState, type Volumes } from '../../core/volumes/volumes.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { BoxReplies } from '../boxes/replies.ts'
import type { Call, Handlers, Reply } from '../common/call.ts'
import { viewVolume } from './view.ts'

type VolumeHandlers = Pick<
  Handlers,
  'createVolume' | 'listVolumes' | 'getVolume' | 'updateVolume' | 'deleteVolume' | 'attachVolume' | 'detachVolume'
>

/** Handles data volumes. */
export function createVolumeHandlers(deps: {
  volumes: Volumes
  attachments: Attachments
  replies: BoxReplies
  createFromBackup(call: Call<'createVolume'>, backup: string): Promise<Reply>
}): VolumeHandlers {
  const { volumes, attachments, replies } = deps
  const reply = (state: VolumeState): Reply => ({ body: viewVolume(state), version: state.record.version })
  return {
    createVolume: async (call) => {
      const { params, body, caller, ifMatch, idempotencyKey } = call
      if (body.from_backup !== undefined) return deps.createFromBackup(call, body.from_backup)
      const state = await volumes.create(caller, { project: params.project, body }, { ifMatch, idempotencyKey })
      const { project, name } = state.record
      return { ...reply(state), headers: { location: `/v1/projects/${project}/data/${name}` } }
    },
    listVolumes: async ({ params, query, caller }) => {
      const { states, next } = await volumes.list(caller, params.project, query)
      return { body: { volumes: states.map(viewVolume), has_more: next !== null, next_continuation_token: next } }
    },
    getVolume: async ({ params }) => reply(await volumes.get(params)),
    updateVolume: async ({ params, body, ifMatch, idempotencyKey }) => {
      const check = (state: VolumeState): void => checkReadOnly(viewVolume(state), body, READ_ONLY)
      return reply(await volumes.update(params, body, { ifMatch, idempotencyKey, check }))
    },
    deleteVolume: async ({ params, ifMatch, idempotencyKey }) => {
      await volumes.remove(params, { ifMatch, idempotencyKey })
      return { body: null }
    },
    attachVolume: async ({ params, query, body, caller, ifMatch }) => {
      const options = { waitMs: query.wait_seconds * 1000, ifMatch }
      return replies.done(caller, await attachments.attach(params, body, options))
    },
    detachVolume: async ({ params, query, body, caller, ifMatch, answerOf }) => {
      const answer = (record: BoxRecord): Reply => replies.done(caller, record)
      const options = {
        ...{ waitMs: query.wait_seconds * 1000, ifMatch },
        answerOf: (record: BoxRecord) => answerOf(answer(record)),
      }
      return answer(await attachments.detach(params, body.box, options))
    },
  }
}

const READ_ONLY = ['id', 'name', 'project', 'created_at', 'updated_at', 'attachments', 'from', 'backup_schedule']

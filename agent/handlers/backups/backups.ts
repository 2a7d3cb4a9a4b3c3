import { mayEnter } from '../../../shared/auth/tokens.ts'
import { isErrorCode, ServiceError } from '../../../shared/errors.ts'
import type { Backup } from '../../../shared/schemas/backups.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import { type Backups, type KnownBackup, versionOfBackup } from '../../core/backups/backups.ts'
import { type BackupCatalog, isListed } from '../../core/backups/catalog.ts'
import type { BackupRestore } from '../../core/backups/restore.ts'
import type { BackupSchedules } from '../../core/backups/schedules.ts'
import type { Caller } from '../../core/common/caller.ts'
import { decodeCursor, encodeCursor } from '../../core/common/paging.ts'
import type { Operations } from '../../core/operations/operations.ts'
import type { Volumes } from '../../core/volumes/volumes.ts'
import type { Call, Handlers, Reply } from '../common/call.ts'
import { operationLocation, viewOperation } from '../operations/view.ts'
import { viewVolume } from '../volumes/view.ts'
import { viewBackup } from './view.ts'

type BackupHandlers = Pick<
  Handlers,
  | 'createBackup'
  | 'listBackups'
  | 'getBackup'
  | 'deleteBackup'
  | 'restoreBackup'
  | 'updateBackupSchedule'
  | 'listStoredBackups'
>

export interface BackupHandlerDeps {
  backups: Backups
  catalog: BackupCatalog
  restore: BackupRestore
  schedules: BackupSchedules
  volumes: Volumes
  operations: Operations
}

/** Handles the operations on backups of data volumes. */
export function createBackupHandlers(deps: BackupHandlerDeps): BackupHandlers {
  const { backups, catalog, restore, schedules, volumes } = deps
  const reply = (known: KnownBackup): Reply => ({ body: viewBackup(known), version: versionOfBackup(known) })
  return {
    createBackup: async ({ params, query, caller, idempotencyKey }) => {
      const options = { caller, idempotencyKey, automatic: false }
      const { id, operation } = await backups.create(params, options)
      const location = `/v1/projects/${params.project}/data/${params.name}/backups/${id}`
      return replyOnceDone(deps, caller, {
        operation,
        waitMs: query.wait_seconds * 1000,
        read: async () => ({ ...reply(await backups.get(params, id)), headers: { location } }),
      })
    },
    listBackups: async ({ params, query }) =>
      replyPage(
        (await backups.list(params)).map((record) => viewBackup({ record })),
        query,
      ),
    getBackup: async ({ params }) => reply(await backups.get(params, params.backup)),
    deleteBackup: async ({ params, ifMatch }) => {
      await backups.remove(params, params.backup, ifMatch)
      return { body: null }
    },
    restoreBackup: async ({ params, query, body, caller, ifMatch, idempotencyKey }) => {
      const known = await backups.get(params, params.backup)
      const ref = { project: params.project, name: body.as ?? params.name }
      const waitMs = query.wait_seconds * 1000
      const begin = (): Promise<string> =>
        body.as === undefined
          ? restore.restoreOver(caller, known, { ref, waitMs, ifMatch })
          : restore.restoreAsNew(caller, known, { ...ref, sizeGb: null, tags: {}, idempotencyKey })
      return replyOnceDone(deps, caller, {
        operation: await begin(),
        waitMs,
        read: () => readVolume(volumes, ref),
      })
    },
    updateBackupSchedule: async ({ params, body, ifMatch }) => {
      await schedules.set(params, body, ifMatch)
      return readVolume(volumes, params)
    },
    listStoredBackups: async ({ params: { project }, query, caller }) => {
      const stored = await catalog.list(project === '-' ? null : project)
      const listed = stored.filter((each) => isListed(each) && mayEnter(caller, each.project))
      return replyPage(
        listed.map((each) => viewBackup({ stored: each })),
        query,
      )
    },
  }
}

/** Handles `POST P/data` with `from_backup`. */
export function createFromBackup(
  deps: BackupHandlerDeps,
): (call: Call<'createVolume'>, backup: string) => Promise<Reply> {
  return async ({ params, query, body, caller, idempotencyKey }, backup) => {
    const { name, from, from_snapshot, size_gb: sizeGb = null, tags = {} } = body
    if (from !== undefined || from_snapshot !== undefined) {
      throw invalidRequest([{ pointer: '/from_backup', detail: 'is given together with `from` or `from_snapshot`' }])
    }
    const options = { project: params.project, name, sizeGb, tags, idempotencyKey }
    const known = await deps.restore.find(params.project, backup)
    return replyOnceDone(deps, caller, {
      operation: await deps.restore.restoreAsNew(caller, known, options),
      waitMs: query.wait_seconds * 1000,
      read: () => readVolume(deps.volumes, options),
    })
  }
}

interface Waiting {
  /** Null: it has ended already. */
  operation: string | null
  waitMs: number
  read(): Promise<Reply>
}

/** Answers with the result of a job once it has ended within `waitMs`, else with 202 and its operation. Throws the job's error. */
async function replyOnceDone(
  { operations }: Pick<BackupHandlerDeps, 'operations'>,
  caller: Caller,
  { operation, waitMs, read }: Waiting,
): Promise<Reply> {
  const state = operation === null ? null : await operations.get(caller, operation, waitMs)
  if (state?.outcome.status === 'running') {
    return { status: 202, body: viewOperation(state), headers: operationLocation(state.record.id) }
  }
  if (state?.outcome.error) throw failureOf(state.outcome.error)
  return read()
}

async function readVolume(volumes: Volumes, ref: { project: string; name: string }): Promise<Reply> {
  const state = await volumes.get(ref)
  const location = `/v1/projects/${ref.project}/data/${ref.name}`
  return { body: viewVolume(state), version: state.record.version, headers: { location } }
}

function failureOf({ code, detail }: { code: string; detail: string }): ServiceError {
  return new ServiceError(isErrorCode(code) ? code : 'internal', detail)
}

function replyPage(
  all: readonly Backup[],
  query: { continuation_token?: string | undefined; max_results: number },
): Reply {
  const [after = ''] = decodeCursor(query.continuation_token, 1) ?? []
  const rest = all.filter(({ id }) => id > after)
  const page = rest.slice(0, query.max_results)
  const last = page.at(-1)
  const next = last && rest.length > page.length ? encodeCursor([last.id]) : null
  return { body: { backups: page, has_more: next !== null, next_continuation_token: next } }
}

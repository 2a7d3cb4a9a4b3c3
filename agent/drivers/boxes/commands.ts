import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type {
  DetachedExec,
  DetachedExecRequest,
  ExecRequest,
  RunningExec,
  SessionFacts,
  SessionRequest,
  TerminalSession,
} from '../../ports/boxes/runtime.ts'
import { removeExecCgroup, startExec } from '../exec/oci-exec.ts'
import { detachedCgroup } from '../exec/shim-protocol.ts'
import type { Shims } from '../exec/shims.ts'
import type { BoxHandle } from '../host/handle.ts'
import { type BoxUser, buildExecConfig } from '../host/oci-spec.ts'
import { IDS_PER_BOX } from './end.ts'
import type { OciHost } from './oci-host.ts'
import { findBoxUser, findHome } from './users.ts'

/** The commands and sessions of running boxes, as the methods of `Runtime`. */
export interface BoxCommands {
  exec(boxId: string, request: ExecRequest): Promise<RunningExec>
  execDetached(
    boxId: string,
    execId: string,
    request: DetachedExecRequest,
  ): Promise<{ detached: DetachedExec; cwd: string }>
  listDetached(): DetachedExec[]
  openSession(boxId: string, request: SessionRequest): Promise<TerminalSession>
  session(boxId: string, name: string): TerminalSession | null
  sessions(boxId: string): Promise<SessionFacts[]>
  /** Ends commands that an earlier process started, except detached ones. */
  endOrphaned(boxId: string): Promise<void>
}

/** Commands started here, or by the shim. */
export function createBoxCommands(host: OciHost, parts: { shims: Shims; logger: Logger }): BoxCommands {
  const { shims, logger } = parts
  const { execs, sessions } = shims
  let started = 0
  const nextName = (): string => `exec-${process.pid}-${started++}`
  const placeIn = (boxId: string, request: ExecRequest) => placeOf(boxId, requireRunning(host, boxId), request)
  // Writes the status that crun reads, for a box that an earlier process started.
  const notesOf = (boxId: string) => {
    const { crunStatus } = requireRunning(host, boxId)
    return { crunStatus, config: buildExecConfig(host.seccompFilter) }
  }
  return {
    exec: async (boxId, request) => {
      const isRunning = (): boolean => host.handles.readRunning(boxId) !== null
      return startExec({ ...host, logger, nextName }, { ...placeIn(boxId, request), request, isRunning })
    },
    execDetached: async (boxId, execId, { stdin, keepsInput = false, timeoutMs, ...request }) => {
      const place = placeIn(boxId, request)
      const task = { ...place, ...notesOf(boxId), execId, request, stdin, keepsInput, timeoutMs }
      return { detached: await execs.start(task), cwd: place.cwd }
    },
    listDetached: () => execs.list(),
    openSession: async (boxId, { sessionId, name, ...request }) =>
      sessions.open({ ...placeIn(boxId, request), ...notesOf(boxId), sessionId, name, request }),
    session: (boxId, name) => sessions.find(boxId, name),
    sessions: (boxId) => sessions.facts(boxId),
    endOrphaned: async (boxId) => {
      const ids = [...execs.list().map(({ execId }) => execId), ...sessions.list().map(({ sessionId }) => sessionId)]
      const kept = new Set(ids.map(detachedCgroup))
      for (const name of host.cgroups.execs(boxId))
        if (!kept.has(name)) await endCommand({ ...host, logger }, boxId, name)
    },
  }
}

/** The note of a box that runs. Throws `box_not_running`. */
export function requireRunning({ handles }: Pick<OciHost, 'handles'>, boxId: string): BoxHandle {
  const handle = handles.readRunning(boxId)
  if (handle === null) throw new ServiceError('box_not_running', 'The box is not running.')
  return handle
}

// One whose streams nobody reads any more, and for whose end nobody waits.
async function endCommand(
  { cgroups, watcher, logger }: Pick<OciHost, 'cgroups' | 'watcher'> & { logger: Logger },
  boxId: string,
  name: string,
): Promise<void> {
  // If they are children of ours, the box could not end before they are collected.
  for (const pid of cgroups.execProcesses(boxId, name)) watcher.collect(pid)
  cgroups.killExec(boxId, name)
  await removeExecCgroup({ cgroups, logger }, boxId, name)
}

/** Ends a command or session that no shim holds any more; `idBase` is that of its box, if it is known. */
export async function endLost(
  host: Parameters<typeof endCommand>[0],
  { boxId, id }: { boxId: string; id: string },
  idBase: number | undefined,
): Promise<void> {
  await endCommand(host, boxId, detachedCgroup(id))
  // What had ended and was not collected is a child of ours now, perhaps.
  if (idBase !== undefined) host.watcher.collectOwned({ first: idBase, count: IDS_PER_BOX })
}

function placeOf(boxId: string, { rootPath, idBase }: BoxHandle, request: ExecRequest): ExecHome {
  const user = findBoxUser(rootPath, request.user)
  return { boxId, idBase, user, cwd: request.cwd ?? findHome(rootPath, user) }
}

interface ExecHome {
  boxId: string
  idBase: number
  user: BoxUser
  cwd: string
}

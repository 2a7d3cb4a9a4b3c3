import { randomBytes } from 'node:crypto'
import type { Logger } from '../../../shared/log.ts'
import { createProjectTurns } from '../../../shared/project-turns.ts'
import { RESUME, refusal } from '../../../shared/refusals.ts'
import type { BoxSocket, SocketOptions } from '../../ports/boxes/box-socket.ts'
import type {
  DetachedExec,
  DetachedExecRequest,
  ExecRequest,
  RunningExec,
  SessionFacts,
  SessionRequest,
  TerminalSession,
} from '../../ports/boxes/runtime.ts'
import { type ExecTask, removeExecCgroup, startExec } from '../exec/oci-exec.ts'
import { detachedCgroup } from '../exec/shim-protocol.ts'
import type { Shims } from '../exec/shims.ts'
import { HOLDER_COMMAND } from '../exec/socket-holder.ts'
import type { BoxHandle } from '../host/handle.ts'
import { type BoxUser, buildExecConfig, type OciConfig } from '../host/oci-spec.ts'
import { BoxSockets } from './box-sockets.ts'
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
  openSocket(boxId: string, options: SocketOptions): Promise<BoxSocket>
  /** Ends commands that an earlier process started, except detached ones. */
  endOrphaned(boxId: string): Promise<void>
}

/** Creates the commands of running boxes, started by this process or by a shim, in the turns of their projects. */
export function createBoxCommands(
  host: OciHost,
  parts: { shims: Shims; startsAtOnce?: number; logger: Logger },
): BoxCommands {
  const { shims, startsAtOnce: atOnce = COMMAND_STARTS, logger } = parts
  const turns = createProjectTurns({ atOnce })
  const { execs, sessions } = shims
  let started = 0
  // Unpredictable, because a box with nesting could otherwise make a cgroup of that name first.
  const nextName = (): string => `exec-${process.pid}-${started++}-${randomBytes(8).toString('hex')}`
  const homeOf = (boxId: string, request: ExecRequest) => findExecHome(boxId, requireRunning(host, boxId), request)
  const inTurn = <T>(boxId: string, start: () => Promise<T>): Promise<T> =>
    turns.run(requireRunning(host, boxId).project, start)
  // Returns the crun status and config that a shim needs, also of a box that an earlier process started.
  const crunStateOf = async (boxId: string) => {
    const handle = requireRunning(host, boxId)
    return { crunStatus: handle.crunStatus, config: await execConfigOf(host, handle) }
  }
  const start = async (
    boxId: string,
    request: ExecRequest,
    own: Pick<ExecTask, 'openEnds'> = {},
  ): Promise<RunningExec> => {
    const isRunning = (): boolean => host.handles.readRunning(boxId) !== null
    return startExec({ ...host, logger, nextName }, { ...homeOf(boxId, request), ...own, request, isRunning })
  }
  const sockets = new BoxSockets()
  return {
    exec: async (boxId, request) => inTurn(boxId, () => start(boxId, request)),
    execDetached: async (boxId, execId, { stdin, keepsInput = false, timeoutMs, ...request }) =>
      inTurn(boxId, async () => {
        const home = homeOf(boxId, request)
        const task = { ...home, ...(await crunStateOf(boxId)), execId, request, stdin, keepsInput, timeoutMs }
        return { detached: await execs.start(task), cwd: home.cwd }
      }),
    listDetached: () => execs.list(),
    openSession: async (boxId, { sessionId, name, ...request }) =>
      inTurn(boxId, async () =>
        sessions.open({ ...homeOf(boxId, request), ...(await crunStateOf(boxId)), sessionId, name, request }),
      ),
    session: (boxId, name) => sessions.find(boxId, name),
    sessions: (boxId) => sessions.facts(boxId),
    openSocket: async (boxId, options) => {
      const handle = requireRunning(host, boxId)
      const request = { ...options, command: HOLDER_COMMAND, cwd: '/', environment: {} }
      return sockets.open({
        handle,
        user: findBoxUser(handle.rootPath, options.user),
        workDir: host.workDir,
        // Only the start has a turn, since the box can make the rest take forever.
        startHolder: (openEnds) =>
          inTurn(boxId, () => {
            // A restarted box has another network namespace, and other users.
            if (requireRunning(host, boxId).pid !== handle.pid)
              throw refusal('box_not_running', ['The box was restarted.', 'Run the command again.'])
            return start(boxId, request, { openEnds })
          }),
      })
    },
    endOrphaned: async (boxId) => {
      const ids = [...execs.list().map(({ execId }) => execId), ...sessions.list().map(({ sessionId }) => sessionId)]
      const kept = new Set(ids.map(detachedCgroup))
      for (const name of host.cgroups.execs(boxId))
        if (!kept.has(name)) await endCommand({ ...host, logger }, boxId, name)
    },
  }
}

/** Returns the handle of a running box. Throws `box_not_running`. */
export function requireRunning({ handles }: Pick<OciHost, 'handles'>, boxId: string): BoxHandle {
  const handle = handles.readRunning(boxId)
  if (handle === null) throw refusal('box_not_running', ['The box is not running.', RESUME])
  return handle
}

/** Returns the configuration with which crun starts commands in a running box. */
export async function execConfigOf(
  { seccompFilter }: Pick<OciHost, 'seccompFilter'>,
  { nesting = false }: Pick<BoxHandle, 'nesting'>,
): Promise<OciConfig> {
  return buildExecConfig(await seccompFilter(nesting))
}

// Ends a command that an earlier process started, since its streams have no reader and its end has no listener.
async function endCommand(
  { cgroups, watcher, logger }: Pick<OciHost, 'cgroups' | 'watcher'> & { logger: Logger },
  boxId: string,
  name: string,
): Promise<void> {
  // They are children of the agent, and the box cannot end until they are reaped.
  for (const pid of cgroups.execProcesses(boxId, name)) watcher.collect(pid)
  cgroups.killExec(boxId, name)
  await removeExecCgroup({ cgroups, logger }, boxId, name)
}

/** Ends a command or session that lost its shim. `idBase` is the one of its box, if known. */
export async function endLost(
  host: Parameters<typeof endCommand>[0],
  { boxId, id }: { boxId: string; id: string },
  idBase: number | undefined,
): Promise<void> {
  await endCommand(host, boxId, detachedCgroup(id))
  // Processes that had ended unreaped may now be children of the agent.
  if (idBase !== undefined) host.watcher.collectOwned({ first: idBase, count: IDS_PER_BOX })
}

function findExecHome(boxId: string, { rootPath, idBase, nesting = false }: BoxHandle, request: ExecRequest): ExecHome {
  const user = findBoxUser(rootPath, request.user)
  return { boxId, idBase, nesting, user, cwd: request.cwd ?? findHome(rootPath, user) }
}

interface ExecHome {
  boxId: string
  idBase: number
  nesting: boolean
  user: BoxUser
  cwd: string
}

/** Default number of commands, services and consoles that start at once. */
export const COMMAND_STARTS = 4

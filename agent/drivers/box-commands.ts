import type { Logger } from '../../shared/log.ts'
import type { ExecRequest, HeldExec, HoldRequest, RunningExec } from '../ports/runtime.ts'
import { IDS_PER_BOX } from './box-end.ts'
import type { BoxHandle } from './box-handle.ts'
import { findBoxUser, findHome } from './box-users.ts'
import type { HeldExecs } from './held-execs.ts'
import { heldCgroup } from './holder-protocol.ts'
import { dissolve, startExec } from './oci-exec.ts'
import type { OciHost } from './oci-host.ts'
import { type BoxUser, buildExecConfig } from './oci-spec.ts'

/** The commands of running boxes. */
export interface BoxCommands {
  exec(box: NamedBox, request: ExecRequest): Promise<RunningExec>
  hold(box: NamedBox, execId: string, request: HoldRequest): Promise<{ held: HeldExec; cwd: string }>
  /** Ends those that a process before this one started, but for those that are held. */
  endOrphaned(boxId: string): Promise<void>
}

export interface NamedBox {
  id: string
  handle: BoxHandle
}

/** Commands started here, or by the holder. */
export function createBoxCommands(host: OciHost, parts: { held: HeldExecs; logger: Logger }): BoxCommands {
  const { held, logger } = parts
  let execs = 0
  const nextName = (): string => `exec-${process.pid}-${execs++}`
  return {
    exec: (box, request) => {
      const isRunning = (): boolean => host.handles.readRunning(box.id) !== null
      return startExec({ ...host, logger, nextName }, { ...placeOf(box, request), boxId: box.id, request, isRunning })
    },
    hold: async (box, execId, { stdin, timeoutMs, ...request }) => {
      const place = placeOf(box, request)
      const config = buildExecConfig(host.seccompFilter)
      const { crunStatus } = box.handle
      const task = { ...place, boxId: box.id, execId, request, crunStatus, config, stdin, timeoutMs }
      const started = await held.start(task)
      return { held: started, cwd: place.cwd }
    },
    endOrphaned: async (boxId) => {
      const kept = new Set(held.list().map(({ execId }) => heldCgroup(execId)))
      for (const name of host.cgroups.execs(boxId))
        if (!kept.has(name)) await endCommand({ ...host, logger }, boxId, name)
    },
  }
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
  await dissolve({ cgroups, logger }, boxId, name)
}

/** Ends a command that no holder holds any more; `idBase` is that of its box, if it is known. */
export async function endLost(
  host: Parameters<typeof endCommand>[0],
  { boxId, execId }: HeldExec,
  idBase: number | undefined,
): Promise<void> {
  await endCommand(host, boxId, heldCgroup(execId))
  // What had ended and was not collected is a child of ours now, perhaps.
  if (idBase !== undefined) host.watcher.collectOwned({ first: idBase, count: IDS_PER_BOX })
}

function placeOf({ handle }: NamedBox, request: ExecRequest): { idBase: number; user: BoxUser; cwd: string } {
  const user = findBoxUser(handle.rootPath, request.user)
  return { idBase: handle.idBase, user, cwd: request.cwd ?? findHome(handle.rootPath, user) }
}

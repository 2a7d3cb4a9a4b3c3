import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { BoxLife, RunningBoxes } from './running-boxes.ts'

/** Builds the part of a runtime that all runtimes share. */
export function runtimeOf(boxes: RunningBoxes, life: BoxLife): Omit<Runtime, RuntimeOwn> {
  return {
    warmUp: () => boxes.warmUp(),
    start: (spec, onWaiting) => boxes.start(spec, life, onWaiting),
    stop: (id, end) => boxes.stop(id, end, life),
    attach: (id, mount) => boxes.attach(id, mount),
    detach: (id, source) => boxes.detach(id, source),
    mounts: async (id) => boxes.mounts(id),
    problems: async () => boxes.problems(),
    pausedSeconds: () => boxes.disk.pausedSeconds(),
    oomKills: () => boxes.host.cgroups.totalOomKills(),
    usage: async (id) => boxes.usage(id),
    frozen: (id, work) => boxes.frozen(id, work),
    exec: async (id, request) => boxes.commands.exec(id, request),
    execDetached: async (id, execId, request) => boxes.commands.execDetached(id, execId, request),
    listDetached: async () => boxes.commands.listDetached(),
    openSession: async (id, request) => boxes.commands.openSession(id, request),
    session: (id, name) => boxes.commands.session(id, name),
    connect: async (id, port) => boxes.ports.connect(id, port),
    openSocket: async (id, options) => boxes.commands.openSocket(id, options),
    sessions: async (id) => boxes.commands.sessions(id),
  }
}
type RuntimeOwn = 'kind' | 'open' | 'checkReady' | 'list' | 'resize' | 'onExit' | 'onRecovery' | 'close'

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { expect, test } from '@jest/globals'
import type { CommandHost } from '../../../agent/drivers/host/command-host.ts'
import type { CrunOutcome } from '../../../agent/drivers/host/crun.ts'
import { createProcessStarter } from '../../../agent/shim/process-starter.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const ROOT = { uid: 0, gid: 0, additionalGids: [], name: 'root', home: '/root' }
const TASK = {
  ...{ boxId: 'box_early', idBase: 0, user: ROOT, cwd: '/' },
  request: { command: ['sleep', '600'], cwd: '/', environment: {}, user: null },
}

test.each<[string, NodeJS.Signals[], NodeJS.Signals]>([
  ['a SIGKILL and then a SIGTERM', ['SIGKILL', 'SIGTERM'], 'SIGKILL'],
  ['a SIGCONT and then a SIGKILL', ['SIGCONT', 'SIGKILL'], 'SIGKILL'],
  ['a SIGTERM and then a SIGCONT', ['SIGTERM', 'SIGCONT'], 'SIGTERM'],
])('a command that gets %s before it runs gets both', async (_, signals, end) => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  try {
    await once(child, 'spawn')
    const ended = once(child, 'exit')
    const executed = Promise.withResolvers<CrunOutcome>()
    const host = hostWith(child.pid ?? 0, executed.promise)
    const starter = createProcessStarter({ host, crunStates: NO_STATES, logger: silentLogger }, 'exe_early')
    const running = starter.run(TASK)
    for (const signal of signals) await starter.signal(signal)
    executed.resolve({ pid: child.pid ?? 0, message: '', wasKilled: false })
    const { stdin, stdout, stderr } = await running
    for (const stream of [stdin, stdout, stderr]) stream.destroy()
    expect(await ended).toEqual([null, end])
  } finally {
    child.kill('SIGKILL')
  }
})

const NO_STATES = { acquire: () => undefined, release: () => undefined }

/** A host on which every command is the process `pid`, the only one in its cgroup. */
function hostWith(pid: number, executed: Promise<CrunOutcome>): CommandHost {
  const cgroups = {
    place: () => undefined,
    oomKills: () => 0,
    processRoom: () => ({ max: null, free: null, refusals: 0 }),
    watchMemory: () => () => undefined,
    createExec: () => undefined,
    entrances: () => [],
    execProcesses: () => [pid],
    killExec: () => process.kill(pid, 'SIGKILL'),
  }
  const host = {
    cgroups,
    crun: { exec: () => executed },
    handles: { readRunning: () => null },
    watcher: { watch: () => () => undefined },
    processLimits: () => ({ files: { soft: 1024, hard: 1024 }, core: { soft: 0, hard: 0 } }),
    workDir: tmpdir(),
  }
  return host as unknown as CommandHost
}

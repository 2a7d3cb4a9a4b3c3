import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readlinkSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { startShim } from '../../../agent/drivers/exec/shim-process.ts'
import { shimPaths } from '../../../agent/drivers/exec/shim-protocol.ts'
import type { SessionOpenerTask } from '../../fixtures/session-opener.ts'
import { attachTo } from '../../helpers/attached.ts'
import {
  execCgroups,
  leftoversOf,
  type OciLabOptions,
  openOciLab,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'
import { readText } from '../../helpers/leftovers.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const BOX = 'box_struck'

test.each([0, 5, 20, 60, 100, 150, 220, 400])(
  'sessions of an agent killed %i ms after it began to open them go on, and take input from the next',
  async (delayMs) => {
    const { options, opened } = await killWhileOpening(delayMs)
    const lab = await openOciLab(options)
    try {
      await untilTrue(async () => (await lab.runtime.sessions(BOX)).every(({ viewers }) => viewers === 0))
      const facts = await lab.runtime.sessions(BOX)
      const names = facts.map(({ name }) => name)
      expect(names).toEqual(expect.arrayContaining(opened))
      expect(execCgroups(lab, BOX).sort()).toEqual(facts.map(({ sessionId }) => `held-${sessionId}`).sort())
      for (const name of names) {
        const session = lab.runtime.session(BOX, name)
        if (session === null) throw new Error(`${name} is gone`)
        const viewer = await attachTo(session)
        viewer.stdin.write('\x03\necho $((20 + 3)) well; exit 9\n')
        await viewer.seen.until('23 well')
        await viewer.seen.end
        expect(await session.ended).toMatchObject({ exitCode: 9 })
      }
      expect([await lab.runtime.sessions(BOX), execCgroups(lab, BOX)]).toEqual([[], []])
    } finally {
      // A shim that is still starting would outlive the lab.
      const isSettled = (): boolean => existsSync(shimPaths(`${lab.home}/run`).socket) || !isStarting()
      try {
        await untilTrue(isSettled)
      } finally {
        await lab.close()
      }
    }
    await untilGone(lab)
  },
)

test('a shim whose instance is removed while it starts ends, and leaves nothing', async () => {
  const lab = await openOciLab()
  await lab.runtime.start(lab.spec(BOX))
  const { instanceId, home } = lab
  const execFiles = { directory: `${home}/run/execs`, keptBytes: 1024 }
  const shim = { runDir: `${home}/run`, instanceId, crunPath: '/usr/bin/crun', execFiles }
  await lab.close()
  mkdirSync(shim.runDir, { recursive: true })
  await startShim(shim, silentLogger)
  expect(leftoversOf(lab)).toContain(`cgroup /sys/fs/cgroup/pids/boxyard/${instanceId}`)
  rmSync(home, { recursive: true })
  await untilGone(lab)
})

/**
 * Returns whether a child of this process can still become a shim. This process adopts orphans. A child that runs `exec` has no command
 * line.
 */
function isStarting(): boolean {
  const listed = spawnSync('pgrep', ['--parent', String(process.pid)], { encoding: 'utf8' }).stdout
  return listed.split('\n').some((pid) => {
    const command = readText(`/proc/${pid}/cmdline`)
    return SHIM_PROGRAMS.has(programOf(pid)) && (command === '' || /shim\/main\.ts|session-opener\.ts/.test(command))
  })
}

/** Returns the name of a process's program, or an empty string if the process has exited. */
function programOf(pid: string): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`))
  } catch {
    return ''
  }
}

/** Kills an agent while it opens sessions. Returns the names of the sessions that it had reported open. */
async function killWhileOpening(delayMs: number): Promise<{ options: OciLabOptions; opened: string[] }> {
  const prepared = await openOciLab()
  await prepared.runtime.start(prepared.spec(BOX))
  const options = await prepared.letGo()
  const { logger: _, ...network } = options.settings
  const task: SessionOpenerTask = {
    ...{ network, runDir: `${options.home}/run`, instanceId: options.settings.instanceId, boxId: BOX },
  }
  const child = spawn(
    'unshare',
    ['--mount', '--propagation', 'slave', process.execPath, OPENER, JSON.stringify(task)],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'] },
    },
  )
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await untilTrue(() => said !== '')
  child.stdin.write('go\n')
  await sleep(delayMs)
  child.kill('SIGKILL')
  await once(child, 'close')
  return { options, opened: said.split('\n').filter((line) => /^s\d+$/.test(line)) }
}

const OPENER = new URL('../../fixtures/session-opener.ts', import.meta.url).pathname
// unshare replaces itself with node.
const SHIM_PROGRAMS = new Set(['unshare', basename(process.execPath)])

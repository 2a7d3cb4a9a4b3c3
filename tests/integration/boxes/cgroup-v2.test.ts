import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { delegateCgroup, retakeControllers } from '../../../agent/drivers/host/cgroup/delegation.ts'
import { createCgroupPaths, removeDirectory } from '../../../agent/drivers/host/cgroup/paths.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'

const INSTANCE = 'cgroups2'
const BOX = 'box_nest'
const OWNER = 1_234_567

describe('the cgroup of version 2 that a box with nesting divides', () => {
  // Mounts its own hierarchy. A host with version 1 also has one, without controllers, but workers cover that mount.
  const root = mkdtempSync(join(tmpdir(), 'boxyard-cgroup-'))
  const main = `${root}/boxyard/${INSTANCE}/${BOX}`
  const all = { pids: root, memory: root, cpu: root, cpuacct: root, cpuset: root, blkio: root, execs: root }
  const paths = createCgroupPaths({ version: 2, ...all }, INSTANCE, '')
  const started: ChildProcess[] = []

  /** Starts a process, and moves it into a cgroup. */
  const startIn = async (path: string): Promise<number> => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    await once(child, 'spawn')
    started.push(child)
    writeFileSync(`${path}/cgroup.procs`, String(child.pid))
    return child.pid ?? 0
  }

  beforeAll(() => void execFileSync('mount', ['-t', 'cgroup2', 'none', root]))

  afterAll(() => {
    execFileSync('umount', [root])
    rmdirSync(root)
  })

  beforeEach(() => void mkdirSync(main, { recursive: true }))

  afterEach(async () => {
    for (const child of started.splice(0)) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    await untilTrue(() => [...paths.below(BOX), main].map(removeDirectory).every(Boolean))
    paths.close()
  })

  test('every process is found once, also below a threaded cgroup, which lists none itself', async () => {
    mkdirSync(`${main}/own/threads/more`, { recursive: true })
    const pids = [await startIn(`${main}/own`)]
    for (const path of ['own/threads', 'own/threads/more']) writeFileSync(`${main}/${path}/cgroup.type`, 'threaded')
    for (const path of ['own/threads', 'own/threads/more']) pids.push(await startIn(`${main}/${path}`))
    expect(() => readFileSync(`${main}/own/threads/cgroup.procs`)).toThrow(/ENOTSUP/)
    expect(paths.processes(BOX).sort()).toEqual(pids.sort())
  })

  test('the box moves processes and makes cgroups; their limits and controllers stay with the host', async () => {
    delegateCgroup(main, { owner: OWNER, init: await startIn(main) })
    const owned = ['', '/cgroup.procs', '/cgroup.threads']
    for (const file of owned) expect([file, statSync(main + file).uid]).toEqual([file, OWNER])
    for (const file of ['subtree_control', 'max.descendants', 'max.depth', 'freeze', 'kill', 'type'])
      expect([file, statSync(`${main}/cgroup.${file}`).uid]).toEqual([file, 0])
  })

  test('what an older version delegated beyond that is taken back, once', async () => {
    delegateCgroup(main, { owner: OWNER, init: await startIn(main) })
    chownSync(`${main}/cgroup.subtree_control`, OWNER, OWNER)
    mkdirSync(`${main}/own/deep`, { recursive: true })
    for (let round = 0; round < 2; round++) {
      retakeControllers(main)
      expect(statSync(`${main}/cgroup.subtree_control`).uid).toBe(0)
    }
    expect(statSync(`${main}/cgroup.procs`).uid).toBe(OWNER)
  })

  test('a box without nesting has nothing to take back', () => {
    chownSync(`${main}/cgroup.subtree_control`, OWNER, OWNER)
    retakeControllers(main)
    expect(statSync(`${main}/cgroup.subtree_control`).uid).toBe(OWNER)
  })
})

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { findLeftovers, findTraces } from '../../helpers/leftovers.ts'

test('every kind of leftover is found, and only while it exists', async () => {
  const before = findTraces()
  const undo: (() => void)[] = []
  const mark = `leftover${process.pid}`
  try {
    const directory = mkdtempSync(join(tmpdir(), 'boxyard-leftovers-'))
    undo.push(() => rmSync(directory, { recursive: true }))

    const image = join(directory, 'pool.img')
    writeFileSync(image, '')
    truncateSync(image, 1024 * 1024)
    const loop = run('losetup', '--find', '--show', image)
    undo.push(() => run('losetup', '--detach', loop))

    const mounted = join(directory, 'mounted')
    mkdirSync(mounted)
    run('mount', '-t', 'tmpfs', 'none', mounted)
    undo.push(() => run('umount', mounted))

    run('ip', 'link', 'add', 'bx9999-9', 'type', 'bridge')
    undo.push(() => run('ip', 'link', 'delete', 'bx9999-9'))

    run('nft', 'add', 'table', 'inet', `boxyard_${mark}`)
    undo.push(() => run('nft', 'delete', 'table', 'inet', `boxyard_${mark}`))

    const cgroup = join(CGROUP_ROOT, 'boxyard', mark)
    mkdirSync(cgroup, { recursive: true })
    undo.push(() => rmdirSync(cgroup))

    const runFile = join('/run/boxyard', mark)
    mkdirSync(runFile, { recursive: true })
    undo.push(() => rmdirSync(runFile))

    const child = spawn('bash', ['-c', 'exec -a agent/main.ts sleep 60'], { stdio: 'ignore' })
    undo.push(() => child.kill('SIGKILL'))
    const holder = spawn('bash', ['-c', 'exec -a agent/shim/main.ts sleep 60'], { stdio: 'ignore' })
    undo.push(() => holder.kill('SIGKILL'))
    // Until bash runs exec, both processes still have bash's name.
    const isNamed = ({ pid }: { pid?: number | undefined }): boolean =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('agent/')
    await eventually(() => isNamed(child) && isNamed(holder))

    const left = await findLeftovers(before, findTraces, 0)
    for (const trace of [
      `temporary ${directory}`,
      `loop device ${loop.slice('/dev/'.length)} of ${image}`,
      'link bx9999-9',
      `table inet boxyard_${mark}`,
      `cgroup ${cgroup}`,
      `run file ${runFile}`,
      `process ${child.pid} agent/main.ts 60`,
      `process ${holder.pid} agent/shim/main.ts 60`,
    ]) {
      expect(left).toContain(trace)
    }
    expect(left).toContainEqual(expect.stringMatching(new RegExp(`^mount ${mounted} \\(\\d+\\)$`)))
  } finally {
    for (const step of undo.reverse()) step()
  }
  const left = await findLeftovers(before)
  expect(left.filter((trace) => /leftover|bx9999/.test(trace))).toEqual([])
})

function run(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' }).trim()
}

/** Root of the pids controller's hierarchy, or of the unified one. */
const CGROUP_ROOT = run('sh', '-c', '[ -d /sys/fs/cgroup/pids ] && echo /sys/fs/cgroup/pids || echo /sys/fs/cgroup')

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { buildCompileConfig } from '../../../agent/drivers/host/oci-spec.ts'
import { buildSeccompProfile } from '../../../agent/drivers/host/seccomp-profile.ts'
import { openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

/**
 * Does the first step of compiling a filter, like an agent that is killed before the second step. Returns the pid of the process it leaves.
 */
function createFilterContainer(workDir: string): number {
  mkdirSync(`${workDir}/root`, { recursive: true, mode: 0o700 })
  writeFileSync(`${workDir}/root/init`, '', { mode: 0o755 })
  const config = buildCompileConfig(`${workDir}/root`, buildSeccompProfile(process.arch))
  writeFileSync(`${workDir}/config.json`, JSON.stringify(config))
  const args = ['--root', `${workDir}/state`, '--cgroup-manager=disabled', 'create', '-b', workDir, 'filter']
  expect(spawnSync('/usr/bin/crun', args, { stdio: 'ignore' }).status).toBe(0)
  return JSON.parse(readFileSync(`${workDir}/state/filter/status`, 'utf8')).pid
}

test('what an agent that was killed while it compiled a filter left goes with the next start', async () => {
  const lab = await openOciLab()
  const workDirs = ['filter', 'filter-nesting'].map((name) => `${lab.home}/run/${name}`)
  try {
    const pids = workDirs.map(createFilterContainer)
    await lab.reopen()
    const isGone = (pid: number): boolean => /^State:\tZ/m.test(statusOf(pid)) || statusOf(pid) === ''
    await untilTrue(() => pids.every(isGone))
    expect(workDirs.filter((path) => existsSync(path))).toEqual([])
  } finally {
    await lab.close()
  }
  await untilGone(lab)
})

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

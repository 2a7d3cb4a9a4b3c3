import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { processIdBases } from '../../../agent/drivers/network/host.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'

const BASE = 1_999_999_999
let parent: ChildProcess
let pid: string

beforeEach(async () => {
  // The shell replaces itself with a sleep, which reaps no child.
  const script = 'unshare --user sleep 600 & echo $!; exec sleep 600'
  parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = (await once(parent.stdout ?? parent, 'data')) as [Buffer]
  pid = line.toString().trim()
  await untilTrue(() => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n')
  writeFileSync(`/proc/${pid}/uid_map`, `0 ${BASE} 1`)
})

afterEach(() => {
  parent.kill('SIGKILL')
})

test('ids are in use while a process runs with them, and free once it has exited, reaped or not', async () => {
  expect(processIdBases()).toContain(BASE)
  process.kill(Number(pid), 'SIGKILL')
  await untilTrue(() => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
  expect(readFileSync(`/proc/${pid}/uid_map`, 'utf8')).toContain(String(BASE))
  expect(processIdBases()).not.toContain(BASE)
})

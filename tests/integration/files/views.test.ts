import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from '@jest/globals'
import { type FileView, openView } from '../../../agent/drivers/files/views.ts'
import { readStartTicks } from '../../../agent/drivers/host/handle.ts'

let parent: ChildProcess
let view: FileView

afterEach(async () => {
  view.close()
  if (parent.exitCode !== null || parent.signalCode !== null) return
  parent.kill('SIGKILL')
  await once(parent, 'exit')
})

/** Starts a program that prints the pid of a process, and opens a view of that process's files. */
async function viewOf(line: string): Promise<number> {
  parent = spawn('/bin/sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const pid = Number(said.toString())
  view = openView({ kind: 'running', pid, startTicks: readStartTicks(pid) ?? -1, idBase: 0 })
  expect(view.mounts().length).toBeGreaterThan(0)
  return pid
}

const stateOf = (pid: number): string => readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) (.).*$/s, '$1')
const busy = expect.objectContaining({ code: 'box_busy' })

test('reading the mounts of a zombie fails with box_busy', async () => {
  // The second program never reaps the child of the first.
  const pid = await viewOf('sleep 600 & echo $!; exec sleep 600')
  // The shell would reap the child, so wait until it has become sleep.
  while (readFileSync(`/proc/${parent.pid}/comm`, 'utf8') !== 'sleep\n') await sleep(5)
  process.kill(pid, 'SIGKILL')
  while (stateOf(pid) !== 'Z') await sleep(5)
  expect(() => view.mounts()).toThrow(busy)
})

test('reading the mounts of a process that is gone fails with box_busy', async () => {
  await viewOf('echo $$; exec sleep 600')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  expect(() => view.mounts()).toThrow(busy)
})

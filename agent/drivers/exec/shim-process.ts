import { ftruncateSync, writeSync } from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { readStartTicks } from '../host/handle.ts'
import { shimPaths } from './shim-protocol.ts'

/** Notes this process, the shim, in its lock file, open as `fd`. */
export function recordShim(fd: number): void {
  ftruncateSync(fd)
  writeSync(fd, `${process.pid} ${readStartTicks(process.pid)}`)
}

/** Kills the shim of a version, which does not answer; false if there is none. */
export function killShim(runDir: string, version: number): boolean {
  const [pid = 0, startTicks = 0] = tryReadText(shimPaths(runDir, version).lock).split(' ').map(Number)
  if (pid === 0 || readStartTicks(pid) !== startTicks) return false
  process.kill(pid, 'SIGKILL')
  return true
}

import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from '../syscalls/descriptors.ts'
import { tryReadText } from './file-text.ts'

/**
 * Locks a data directory for this process until the returned function is called or the process ends.
 * @throws Error that names the process which holds the lock, and how to stop it
 */
export function lockDataDirectory(dataDir: string): () => void {
  const path = join(dataDir, 'lock')
  const fd = openSync(path, 'a+', 0o600)
  if (lockFile(fd, 'exclusive')) {
    ftruncateSync(fd)
    writeSync(fd, `${process.pid}\n`)
    return () => closeSync(fd)
  }
  closeSync(fd)
  throw new Error(`Another agent runs on ${dataDir}${describeHolder(tryReadText(path))}`)
}

function describeHolder(text: string): string {
  const pid = /^[1-9]\d{0,9}\n$/.test(text) ? text.trim() : null
  const groups = pid === null ? '' : tryReadText(`/proc/${pid}/cgroup`)
  // The holder may not have written its number yet, or have ended since.
  if (groups === '') return '. Stop it first.'
  const unit = unitOf(groups)
  return unit === null
    ? ` (process ${pid}). Stop it first, such as with Ctrl-C in its terminal.`
    : ` (process ${pid}, ${unit}). Stop it first: systemctl stop ${unit}`
}

/** Returns the service of systemd that a process belongs to, by its /proc/PID/cgroup. Null if it belongs to none. */
export function unitOf(groups: string): string | null {
  // Only version 2 and the hierarchy of systemd have units. A login is not a service, though systemd runs a part of it as one.
  const paths = Array.from(groups.matchAll(/^(?:0:|\d+:name=systemd):(.*)$/gm), ([, path = '']) => path)
  const parts = paths.filter((path) => !path.startsWith('/user.slice/')).flatMap((path) => path.split('/'))
  return parts.find((part) => /^[\w@.:-]+\.service$/.test(part)) ?? null
}

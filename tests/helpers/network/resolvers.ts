import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFile } from '../../../agent/lib/syscalls/descriptors.ts'
import { MS, mountFilesystem, unmount } from '../../../agent/lib/syscalls/mounts.ts'

/**
 * Gives the processes of the tests, whose mounts are their own, another /etc/resolv.conf; returns what takes it back. Test
 * files share those mounts: they take turns.
 */
export async function replaceResolvers(text: string): Promise<() => void> {
  // Nothing has to be left for a lock: any directory has one.
  const turn = openSync(import.meta.dirname, 'r')
  while (!lockFile(turn, 'exclusive')) await sleep(50)
  const directory = mkdtempSync('/tmp/boxyard-resolv-')
  writeFileSync(`${directory}/resolv.conf`, text)
  mountFilesystem({ source: `${directory}/resolv.conf`, target: '/etc/resolv.conf', type: null, flags: MS.BIND })
  return () => {
    unmount('/etc/resolv.conf')
    rmSync(directory, { recursive: true, force: true })
    closeSync(turn)
  }
}

/** How long a test file may wait for its turn, in milliseconds. */
export const TURN_MS = 180_000

import fs from 'node:fs'

/**
 * Whether this process has a mount namespace of its own: not that of process 1, nor, where that may not be read
 * (it holds capabilities we lack), of the kernel's first thread, nor of our parent. Unknown counts as no.
 */
export function isPrivateMountNamespace(): boolean {
  const own = namespaceOf('self')
  for (const pid of ['1', isKernelThread('2') ? '2' : null, String(process.ppid)]) {
    const other = pid === null ? null : namespaceOf(pid)
    if (other !== null) return own !== other
  }
  return false
}

/** Throws, with the remedy, unless this process has its own mount namespace, with which its mounts vanish. */
export function assertPrivateMountNamespace(): void {
  if (isPrivateMountNamespace()) return
  throw new Error('The agent needs a mount namespace of its own: start it with `unshare --mount --propagation slave`.')
}

function namespaceOf(pid: string): string | null {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/mnt`)
  } catch {
    return null
  }
}

function isKernelThread(pid: string): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'kthreadd'
  } catch {
    return false
  }
}

import fs from 'node:fs'
import { runOk } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/**
 * Returns the mounts that a box with nesting has beside those in every box. These are `/dev/net/tun`, if every user of the host may open
 * it, and, with cgroups of version 1, an empty directory, by which container runtimes detect the version.
 */
export function nestingMounts(cgroupVersion: 1 | 2): NestingMount[] {
  const tun = { destination: TUN, type: 'bind', source: TUN, options: ['bind', 'nosuid', 'noexec'] }
  const options = ['nosuid', 'noexec', 'nodev', 'ro', 'mode=755', 'size=4k']
  const empty = { destination: '/sys/fs/cgroup', type: 'tmpfs', source: 'tmpfs', options }
  return [...(cgroupVersion === 1 ? [empty] : []), ...(isOpenToAll(TUN) ? [tun] : [])]
}

/**
 * Second mounts of the system in a box with nesting, by their paths. Nothing hides parts of them. The kernel lets a nested user namespace
 * mount /proc and /sys only where its owner sees a complete one.
 */
export const WHOLE_COPIES = { '/proc': '/dev/boxyard/proc', '/sys': '/dev/boxyard/sys' } as const

/**
 * Limits the namespaces that can exist below a user namespace at once, counted with those nested in it. No process in the namespace can
 * raise the limits, because that requires CAP_SYS_RESOURCE there.
 */
export async function boundNamespaces(userNamespace: string): Promise<void> {
  const bounds = Object.entries(NAMESPACES_MAX).map(([kind, count]) => `${kind}=${count}`)
  await runOk('nsenter', [`--user=${userNamespace}`, '--', 'sh', '-c', BOUND, 'sh', ...bounds], { timeoutMs: 10_000 })
}

/**
 * Additional capabilities of root in a box with nesting, only in its user namespace. They allow it to mount and to configure its network.
 * The last two are among Docker's defaults for containers, which cannot give capabilities that they lack. They allow nothing here.
 */
export const NESTING_CAPABILITIES = ['SYS_ADMIN', 'NET_ADMIN', 'MKNOD', 'AUDIT_WRITE'].map((name) => `CAP_${name}`)

/** Most namespaces of each kind in a box with nesting. */
export const NAMESPACES_MAX = { user: 256, mnt: 512, pid: 256, net: 128, uts: 256, ipc: 256, cgroup: 256, time: 256 }

/** A mount in the form of the OCI configuration. */
interface NestingMount {
  destination: string
  type: string
  source: string
  options: readonly string[]
}

function isOpenToAll(device: string): boolean {
  try {
    return (fs.statSync(device).mode & 0o006) === 0o006
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
}

// The kernel applies these files to the user namespace of the process that opens them.
const BOUND = `for bound do echo "\${bound#*=}" >"/proc/sys/user/max_\${bound%%=*}_namespaces" || exit 1; done`
const TUN = '/dev/net/tun'

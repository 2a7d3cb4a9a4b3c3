import type { Logger } from '../../../shared/log.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readNames } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import type { RunningExec } from '../../ports/boxes/runtime.ts'
import type { BoxCommands } from './commands.ts'

/**
 * Gives a box that has never run a copy of its own machine id, and new SSH server keys if its root came with keys of another box. Programs
 * in the box create both. They run as its root, before all other programs. The host only checks whether they are needed. Calls
 * `onWaiting` before they run, since a hostile program may take all of the time. Never rejects. A box without these programs keeps its
 * files, and the agent logs that.
 */
export async function makeOwnIdentity(
  { commands, logger, onWaiting }: IdentityDeps,
  { id, rootPath }: { id: string; rootPath: string },
): Promise<void> {
  try {
    if (!hasIdentity(rootPath)) return
    onWaiting?.('Creating SSH host keys.')
    const request = { command: ['/bin/sh', '-c', SCRIPT], cwd: '/', environment: { PATH }, user: '0', endsWhole: true }
    const exitCode = await endWithin(await commands.exec(id, request), LIMIT_MS)
    if (exitCode !== 0)
      logger.warn('failed to create SSH host keys of a new box, it may share the keys of another box', {
        box: id,
        exitCode,
      })
  } catch (error) {
    logger.warn('failed to create SSH host keys of a new box, it may share the keys of another box', { box: id, error })
  }
}

interface IdentityDeps {
  commands: Pick<BoxCommands, 'exec'>
  logger: Logger
  /** As in `Runtime.start`. */
  onWaiting: ((why: string) => void) | undefined
}

function hasIdentity(rootPath: string): boolean {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    const hasKeys = namesIn(rootFd, 'etc/ssh').some((name) => /^ssh_host_[a-z0-9]+_key$/.test(name))
    return hasKeys || namesIn(rootFd, 'var/lib/dbus').includes('machine-id')
  } finally {
    closeFd(rootFd)
  }
}

/** Returns the first names of a directory, or none if there is no such directory in this root. */
function namesIn(rootFd: number, path: string): string[] {
  let fd: number | undefined
  try {
    fd = openBelow(rootFd, path, { flags: O.RDONLY | O.DIRECTORY, resolve: STRICT })
    return readNames(fd, Buffer.allocUnsafe(NAMES_BYTES)) ?? []
  } catch (error) {
    if (isErrno(error, ...ABSENT)) return []
    throw error
  } finally {
    if (fd !== undefined) closeFd(fd)
  }
}

async function endWithin(running: RunningExec, ms: number): Promise<number | null> {
  for (const stream of [running.stdin, running.stdout, running.stderr]) stream.on('error', () => undefined).destroy()
  const timer = setTimeout(() => void running.signal('SIGKILL'), ms)
  try {
    return (await running.exited).exitCode
  } finally {
    clearTimeout(timer)
  }
}

// Replaces each key by a rename with a new one of its kind. If ssh-keygen fails, the old key stays, so that the server still starts.
const SCRIPT = `
exec </dev/null >/dev/null 2>&1
failed=0
for key in /etc/ssh/ssh_host_*_key; do
  [ -f "$key" ] || continue
  kind=\${key#/etc/ssh/ssh_host_}
  rm -f "$key.new" "$key.new.pub"
  ssh-keygen -q -t "\${kind%_key}" -N '' -f "$key.new" && mv -f "$key.new" "$key" && mv -f "$key.new.pub" "$key.pub" || failed=1
done
copy=/var/lib/dbus/machine-id
if [ -f $copy ] && [ ! -L $copy ]; then cat /etc/machine-id >$copy || failed=1; fi
exit $failed`
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Enough for an RSA key on a slow box. */
const LIMIT_MS = 10_000
/** A few hundred names, more than belong there. */
const NAMES_BYTES = 16 * 1024
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'EAGAIN']

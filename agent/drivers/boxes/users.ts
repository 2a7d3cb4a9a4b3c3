import { constants, fstatSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, readFd } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import type { BoxUser } from '../host/oci-spec.ts'

/**
 * Finds the user `name[:group]`, by names or numbers, in the box's own files. Null is root. Reads at most 64 KiB and 4,096 lines of each
 * file and follows no link out of the root. Throws `invalid_request` at `/user` for an unknown user.
 */
export function findBoxUser(rootPath: string, user: string | null): BoxUser {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    return resolveUser(user ?? '0', readTable(rootFd, 'etc/passwd'), readTable(rootFd, 'etc/group'))
  } finally {
    closeFd(rootFd)
  }
}

/** Returns the user's home if the root has that directory, else `/`. */
export function findHome(rootPath: string, user: BoxUser): string {
  const rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
  try {
    const resolve = RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS
    closeFd(openBelow(rootFd, user.home, { flags: O.PATH | O.DIRECTORY, resolve }))
    return user.home
  } catch (error) {
    if (isErrno(error, ...ABSENT)) return '/'
    throw error
  } finally {
    closeFd(rootFd)
  }
}

/** Resolves the user and groups that `wanted` names, from the lines of passwd and group, split at colons. */
export function resolveUser(wanted: string, passwd: readonly string[][], group: readonly string[][]): BoxUser {
  const [name = '', groupName, ...rest] = wanted.split(':')
  if (rest.length > 0 || name === '' || groupName === '') throw unknownUser('must be a user, or user:group')
  const entry = passwd.find(([login]) => login === name) ?? passwd.find(([, , uid]) => isNumber(name) && uid === name)
  const uid = toId(entry?.[2] ?? name)
  if (uid === null) throw unknownUser(`the box has no user named "${name}"`)
  const login = entry?.[0] ?? null
  const home = entry?.[5]
  const base = { uid, name: login, home: home !== undefined && home.startsWith('/') ? home : uid === 0 ? '/root' : '/' }
  if (groupName !== undefined) return { ...base, gid: findGroup(groupName, group), additionalGids: [] }
  const gid = toId(entry?.[3] ?? '0') ?? 0
  const memberships = group
    .filter(([, , , members]) => login !== null && members !== undefined && members.split(',').includes(login))
    .flatMap(([, , id]) => toId(id ?? '') ?? [])
  return { ...base, gid, additionalGids: [...new Set(memberships)].slice(0, MAX_GROUPS) }
}

function findGroup(wanted: string, group: readonly string[][]): number {
  const gid = toId(group.find(([name]) => name === wanted)?.[2] ?? wanted)
  if (gid === null) throw unknownUser(`the box has no group named "${wanted}"`)
  return gid
}

function readTable(rootFd: number, path: string): string[][] {
  const text = readRegularFile(rootFd, path)
  return text.split('\n', MAX_LINES).map((line) => line.split(':', MAX_FIELDS))
}

function readRegularFile(rootFd: number, path: string): string {
  let fd: number
  try {
    const flags = O.RDONLY | O.NONBLOCK | O.NOCTTY
    fd = openBelow(rootFd, path, { flags, resolve: RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS })
  } catch (error) {
    if (isErrno(error, ...ABSENT)) return ''
    throw error
  }
  try {
    const { mode, size } = fstatSync(fd)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) return ''
    const buffer = Buffer.alloc(Math.min(size, MAX_FILE_BYTES))
    const length = buffer.length === 0 ? 0 : readFd(fd, buffer)
    // A truncated line could name another id.
    const end = size > length ? buffer.lastIndexOf(LINE_FEED, length - 1) : length
    return buffer.toString('utf8', 0, Math.max(end, 0))
  } finally {
    closeFd(fd)
  }
}

function unknownUser(detail: string): ServiceError {
  return new ServiceError('invalid_request', 'The command names a user that the box does not have.', {
    errors: [{ pointer: '/user', detail }],
  })
}

function isNumber(text: string): boolean {
  return /^\d{1,5}$/.test(text)
}

function toId(text: string): number | null {
  return isNumber(text) && Number(text) <= MAX_ID ? Number(text) : null
}

// Limits the agent's time for a command, since the box's owner controls these files.
const MAX_FILE_BYTES = 64 * 1024
const MAX_LINES = 4096
const MAX_FIELDS = 7
const LINE_FEED = 10
// Errors that the owner can cause with a path. EAGAIN is a lease on the file, or endless renames.
const ABSENT = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES', 'ENAMETOOLONG', 'EAGAIN']
const MAX_ID = 65_535
const MAX_GROUPS = 1024

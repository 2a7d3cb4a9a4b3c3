import { createHash } from 'node:crypto'
import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, removeAt, renameBetween } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'
import { LOCALHOST_LINES } from '../network/files.ts'

/** Description of a box in its /etc. The files are on its disk, and its root may change them. */
export interface OwnFiles {
  hostname: string
  /** The resolvers of boxes, as a resolv.conf has them. */
  resolvConf: string
  /** The box's own address, for its line in /etc/hosts. Null if something is mounted over that file. */
  address: string | null
}

/**
 * Writes /etc/hostname, /etc/resolv.conf and /etc/hosts of a box that does not run. With `isFirst` it replaces the files of the root, but
 * keeps the lines of its hosts file. Later it replaces an unchanged resolv.conf, and the box's line in its hosts file. Leaves out a file
 * that it cannot write, and returns the error unless it is an ordinary one, such as a full disk. Never throws, so that no root, however
 * odd, keeps the agent or a box from starting.
 */
export function writeOwnFiles(rootPath: string, files: OwnFiles, isFirst: boolean): unknown {
  const { hostname, resolvConf, address } = files
  const writes: ((etcFd: number) => void)[] = [
    (etcFd) => (isFirst ? replace(etcFd, 'resolv.conf', markedText(resolvConf)) : followIn(etcFd, resolvConf)),
    ...(isFirst ? [(etcFd: number) => replace(etcFd, 'hostname', `${hostname}\n`)] : []),
    ...(address === null ? [] : [(etcFd: number) => writeHosts(etcFd, { hostname, address }, isFirst)]),
  ]
  return inEtc(rootPath, (etcFd) => {
    // A file that cannot be written does not prevent the others.
    const errors = writes.map((write) => errorOf(() => write(etcFd)))
    return errors.find((error) => error !== null) ?? null
  })
}

/** Writes the files of a box that starts, as `writeOwnFiles`, and logs a failure. */
export function writeFilesOf(spec: BoxSpec, own: Omit<OwnFiles, 'hostname'>, logger: Logger): void {
  const error = writeOwnFiles(spec.rootPath, { ...own, hostname: spec.hostname }, spec.writesNames)
  if (error !== null) logger.warn('failed to write files in /etc of a box', { box: spec.id, error })
}

/** Brings the resolv.conf of a box, which may run, to `resolvConf`, unless the box has changed it. Returns an error as `writeOwnFiles`. */
export function followResolvers(rootPath: string, resolvConf: string): unknown {
  return inEtc(rootPath, (etcFd) => errorOf(() => followIn(etcFd, resolvConf)))
}

/** Calls `followResolvers` for each of `boxes` that has a root path, and logs failures. */
export function followResolversIn(
  boxes: Iterable<{ id: string; rootPath: string | undefined }>,
  resolvConf: string,
  logger: Logger,
): void {
  for (const { id, rootPath } of boxes) {
    const error = rootPath === undefined ? null : followResolvers(rootPath, resolvConf)
    if (error !== null) logger.warn('failed to write resolv.conf of a box', { box: id, error })
  }
}

/** Returns a resolv.conf with a marker line at the top, which identifies it until someone changes the file. A pure function. */
export function markedText(resolvConf: string): string {
  return `${MARK}${digestOf(resolvConf)}\n${resolvConf}`
}

/** Returns true if a resolv.conf is exactly as `markedText` made it. A pure function. */
export function isUnchanged(text: string): boolean {
  const end = text.indexOf('\n')
  return end > 0 && text.slice(0, end) === `${MARK}${digestOf(text.slice(end + 1))}`
}

/**
 * Returns the hosts file of a box with the current line of the box, or null to leave the file unchanged. `present` is the text that it has,
 * empty if the agent never wrote it. A mark identifies the line. A box that removed the line gets it back only as a fork, which has another
 * name. A pure function.
 */
export function hostsWith(
  present: string,
  { hostname, address }: { hostname: string; address: string },
  isFirst: boolean,
): string | null {
  const own = `${address} ${hostname} ${HOSTS_MARK}`
  const lines = present.split('\n')
  const index = lines.findIndex((line) => line.endsWith(HOSTS_MARK))
  if (index >= 0) {
    const text = lines.with(index, own).join('\n')
    return text === present ? null : text
  }
  if (present.trim() === '') return [...LOCALHOST_LINES, own, ''].join('\n')
  if (!isFirst) return null
  const first = /^[^#\n]*\slocalhost(\s|$)/m.test(present) ? [] : LOCALHOST_LINES
  return [...first, withoutLastNewlines(present), own, ''].join('\n')
}

// A regular expression takes quadratic time for this, and the box has written the text.
function withoutLastNewlines(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '\n') end--
  return text.slice(0, end)
}

function writeHosts(etcFd: number, own: { hostname: string; address: string }, isFirst: boolean): void {
  const found = lookAtHosts(etcFd)
  if (found === 'kept' || (found === 'none' && !isFirst)) return
  const text = hostsWith(found === 'none' ? '' : found.text, own, isFirst)
  if (text !== null) replace(etcFd, 'hosts', text)
}

/** Looks at the hosts file. A socket or a device, which cannot be opened, is `none`. */
function lookAtHosts(etcFd: number): Found {
  try {
    return look(etcFd, 'hosts', HOSTS_BYTES_MAX)
  } catch (error) {
    if (isErrno(error, 'ENXIO', 'EACCES', 'ENODEV')) return 'none'
    throw error
  }
}

function followIn(etcFd: number, resolvConf: string): void {
  const found = look(etcFd, 'resolv.conf', BYTES_MAX)
  if (typeof found === 'string' || !isUnchanged(found.text) || found.text === markedText(resolvConf)) return
  replace(etcFd, 'resolv.conf', markedText(resolvConf))
}

/** Calls `act`, which returns an error as `errorOf`, with the /etc of a root. Returns its error, or the error of opening it. */
function inEtc(rootPath: string, act: (etcFd: number) => unknown): unknown {
  let rootFd: number | undefined
  let etcFd: number | undefined
  let failure: unknown = null
  const error = errorOf(() => {
    rootFd = openBelow(AT.FDCWD, rootPath, { flags: O.PATH | O.DIRECTORY })
    // It may be a link within the root.
    etcFd = openBelow(rootFd, 'etc', { flags: O.RDONLY | O.DIRECTORY, resolve: WITHIN })
    failure = act(etcFd)
  })
  for (const fd of [etcFd, rootFd]) if (fd !== undefined) closeFd(fd)
  return error ?? failure
}

/** Returns the error of `act`, or null if there is none or only an ordinary one. */
function errorOf(act: () => void): unknown {
  try {
    act()
    return null
  } catch (error) {
    return isErrno(error, ...UNWRITABLE) ? null : error
  }
}

/**
 * The text of a regular file, a character for each byte. `kept` is a file that is too large, or that a program holds a lease on. `none` is
 * anything else.
 */
type Found = { text: string } | 'kept' | 'none'

function look(etcFd: number, name: string, bytesMax: number): Found {
  let fd: number | undefined
  try {
    fd = openBelow(etcFd, name, { flags: O.RDONLY | O.NONBLOCK | O.NOFOLLOW, resolve: STRICT })
    const facts = fs.fstatSync(fd)
    if (!facts.isFile()) return 'none'
    if (facts.size > bytesMax) return 'kept'
    const bytes = Buffer.alloc(facts.size)
    return { text: bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, bytes.length, 0)) }
  } catch (error) {
    if (isErrno(error, 'EAGAIN', 'EWOULDBLOCK')) return 'kept'
    if (isErrno(error, ...UNWRITABLE)) return 'none'
    throw error
  } finally {
    if (fd !== undefined) closeFd(fd)
  }
}

// Renames a new file over whatever has the name, so that no link is followed and readers find one text or the other.
function replace(etcFd: number, name: string, text: string): void {
  const draft = `.${name}.boxyard`
  try {
    removeAt(etcFd, draft)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  const fd = openBelow(etcFd, draft, { flags: O.WRONLY | O.CREAT | O.EXCL, mode: 0o644, resolve: STRICT })
  try {
    fs.fchmodSync(fd, 0o644)
    fs.writeFileSync(fd, text, 'latin1')
    renameBetween({ fromFd: etcFd, fromName: draft, toFd: etcFd, toName: name })
  } catch (error) {
    removeAt(etcFd, draft)
    throw error
  } finally {
    closeFd(fd)
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

const MARK = '# Boxyard keeps this file like the resolvers of the host until you change it. '
const HOSTS_MARK = '# this box, by Boxyard'
const BYTES_MAX = 64 * 1024
/** Blocklists of hosts are this long. */
const HOSTS_BYTES_MAX = 256 * 1024
const WITHIN = RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS | RESOLVE.NO_XDEV
const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV
// Errors that the owner of a root causes without malice, and a full disk.
const UNWRITABLE = [
  ...['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'EXDEV', 'EAGAIN', 'EWOULDBLOCK', 'EEXIST', 'EPERM', 'ENOTEMPTY'],
  ...['ENOSPC', 'EDQUOT'],
]

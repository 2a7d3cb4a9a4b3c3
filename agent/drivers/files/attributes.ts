import { isErrno } from '../../lib/syscalls/libc.ts'
import { listAttributes, readAttribute, removeAttribute, writeAttribute } from '../../lib/syscalls/metadata.ts'
import { pathInvalid, type RawPath } from './paths.ts'

export interface AttributeCopy {
  /** The path that errors name. */
  path: RawPath
  /** The host id of the box's id 0 at the copy, minus the one at the source. */
  idShift: number
}

/**
 * Gives a file exactly the extended attributes of another, including ACLs and capabilities. Call it after setting the owner, which clears
 * capabilities, and before setting the mode, which an ACL changes. Throws `path_invalid` for an attribute that the target cannot have.
 */
export function copyAttributes(fromFd: number, toFd: number, { path, idShift }: AttributeCopy): void {
  const names = listAttributes(fromFd)
  // A new file may have inherited attributes from its directory.
  for (const name of listAttributes(toFd))
    if (!names.includes(name)) withReason(path, name, () => removeAttribute(toFd, name))
  for (const name of names) {
    const value = readPresent(fromFd, name)
    if (value !== null) withReason(path, name, () => writeAttribute(toFd, name, shiftedValue(name, value, idShift)))
  }
}

/** Returns null if the box has just removed it. */
function readPresent(fd: number, name: string): Buffer | null {
  try {
    return readAttribute(fd, name)
  } catch (error) {
    if (isErrno(error, 'ENODATA')) return null
    throw error
  }
}

function withReason(path: RawPath, name: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!isErrno(error, ...REFUSALS)) throw error
    throw pathInvalid(path, `its extended attribute ${name} cannot be kept there`, error)
  }
}

/** Returns an attribute with shifted ids. Pure, except for an ACL, which it changes in place. */
function shiftedValue(name: string, value: Buffer, idShift: number): Buffer {
  if (idShift === 0) return value
  if (name === CAPABILITY) return shiftedCapability(value, idShift)
  if (name.startsWith('system.posix_acl_')) shiftList(value, idShift)
  return value
}

function shiftList(list: Buffer, idShift: number): void {
  for (let start = ACL_HEADER_BYTES; start + ACL_ENTRY_BYTES <= list.length; start += ACL_ENTRY_BYTES)
    if (ACL_WITH_ID.has(list.readUInt16LE(start))) list.writeUInt32LE(list.readUInt32LE(start + 4) + idShift, start + 4)
}

/**
 * Shifts the root of the user namespace in which a capability counts. The host sees one of the box's root without it (version 2), and
 * may set it in the box's idmapped mount only with it (version 3).
 */
function shiftedCapability(value: Buffer, idShift: number): Buffer {
  const shifted = Buffer.alloc(CAPABILITY_BYTES)
  value.copy(shifted)
  const version = value.readUInt32LE(0)
  const root = value.length < CAPABILITY_BYTES ? 0 : value.readUInt32LE(CAPABILITY_BYTES - 4)
  shifted.writeUInt32LE(((version & VERSION_FLAGS) | VERSION_3) >>> 0)
  shifted.writeUInt32LE(root + idShift, CAPABILITY_BYTES - 4)
  return shifted
}

/** Errors of the kernel for attributes that a file, filesystem or mount cannot have. */
const REFUSALS = ['EINVAL', 'EPERM', 'EACCES', 'EOPNOTSUPP', 'ENOTSUP', 'ERANGE', 'E2BIG', 'EOVERFLOW']
const CAPABILITY = 'security.capability'
// From linux/capability.h. A version with flags, two pairs of sets, and since version 3 the id of the root.
const CAPABILITY_BYTES = 24
const VERSION_3 = 0x03000000
const VERSION_FLAGS = 0x00ffffff
// From linux/posix_acl_xattr.h. A version, then per entry a tag, permissions and an id (used for users and groups).
const ACL_HEADER_BYTES = 4
const ACL_ENTRY_BYTES = 8
const ACL_WITH_ID: ReadonlySet<number> = new Set([2, 8])

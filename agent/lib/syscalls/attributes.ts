import { checked, lazyNative } from './libc.ts'

/** Names of the extended attributes of what `fd` is open on, which `O.PATH` alone is not enough for. */
export function listAttributes(fd: number): string[] {
  const length = checked(flistxattr()(fd, NAMES, NAMES.length), 'flistxattr')
  return NAMES.toString('latin1', 0, length).split('\0').slice(0, -1)
}

/** The value of one, at most 64 KiB; good until the next call. ENODATA if there is none of that name. */
export function readAttribute(fd: number, name: string): Buffer {
  return VALUE.subarray(0, checked(fgetxattr()(fd, bytesOf(name), VALUE, VALUE.length), 'fgetxattr'))
}

export function writeAttribute(fd: number, name: string, value: Buffer): void {
  checked(fsetxattr()(fd, bytesOf(name), value, value.length, 0), 'fsetxattr')
}

export function removeAttribute(fd: number, name: string): void {
  checked(fremovexattr()(fd, bytesOf(name)), 'fremovexattr')
}

// A name may be any bytes.
function bytesOf(name: string): Buffer {
  return Buffer.from(`${name}\0`, 'latin1')
}

// As long as the kernel lets them be; a thread makes one call at a time.
const NAMES = Buffer.alloc(65_536)
const VALUE = Buffer.alloc(65_536)

const flistxattr = lazyNative<(fd: number, names: Buffer, size: number) => number>(null, 'flistxattr', {
  result: 'long',
  args: ['int', 'void *', 'ulong'],
})
const fgetxattr = lazyNative<(fd: number, name: Buffer, value: Buffer, size: number) => number>(null, 'fgetxattr', {
  result: 'long',
  args: ['int', 'str', 'void *', 'ulong'],
})
const fsetxattr = lazyNative<(fd: number, name: Buffer, value: Buffer, size: number, flags: number) => number>(
  null,
  'fsetxattr',
  { result: 'int', args: ['int', 'str', 'void *', 'ulong', 'int'] },
)
const fremovexattr = lazyNative<(fd: number, name: Buffer) => number>(null, 'fremovexattr', {
  result: 'int',
  args: ['int', 'str'],
})

import fs from 'node:fs'
import { listAttributes, readAttribute, writeAttribute } from '../../../agent/lib/syscalls/metadata.ts'

/** Sets extended attributes of a file by name. */
export function setAttributes(path: string, attributes: Readonly<Record<string, Buffer>>): void {
  withFile(path, (fd) => {
    for (const [name, value] of Object.entries(attributes)) writeAttribute(fd, name, value)
  })
}

/** Reads all extended attributes of a file, in hexadecimal. */
export function attributesOf(path: string): Record<string, string> {
  return withFile(path, (fd) =>
    Object.fromEntries(listAttributes(fd).map((name) => [name, readAttribute(fd, name).toString('hex')])),
  )
}

/** Encodes an access control list as the kernel does, with version 2, then tag, permissions and id of each entry. */
export function accessList(...entries: [tag: number, rights: number, id: number][]): Buffer {
  const list = Buffer.alloc(4 + entries.length * 8)
  list.writeUInt32LE(2)
  for (const [index, [tag, rights, id]] of entries.entries()) {
    list.writeUInt16LE(tag, 4 + index * 8)
    list.writeUInt16LE(rights, 6 + index * 8)
    list.writeInt32LE(id, 8 + index * 8)
  }
  return list
}

/** Encodes effective and permitted capabilities of a file. With the root of a user namespace, uses version 3. */
export function capabilities(bits: number, root: number | null = null): Buffer {
  const value = Buffer.alloc(root === null ? 20 : 24)
  value.writeUInt32LE(root === null ? 0x02000001 : 0x03000001)
  value.writeUInt32LE(bits, 4)
  if (root !== null) value.writeUInt32LE(root, 20)
  return value
}

function withFile<T>(path: string, work: (fd: number) => T): T {
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    return work(fd)
  } finally {
    fs.closeSync(fd)
  }
}

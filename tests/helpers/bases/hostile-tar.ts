/** A tar entry, valid or not. Strings hold one byte per character. */
export interface RawTarEntry {
  name: string
  /** '0' is a file, '1' a hard link, '2' a symbolic link, '5' a directory. */
  flag?: string
  target?: string
  body?: string | Uint8Array
  /** Size in the header. Default: the length of the body. */
  sizeBytes?: number
  mode?: number
  uid?: number
  /** The ustar prefix field. */
  prefix?: string
}

/** Packs entries into an archive with an end marker. */
export function tarOf(entries: readonly RawTarEntry[]): Buffer {
  return Buffer.concat([...entries.map(entryOf), Buffer.alloc(1024)])
}

/** Packs one entry: header, content and padding. */
export function entryOf(entry: RawTarEntry): Buffer {
  const { name, flag = '0', target = '', mode = 0o644, uid = 0, prefix = '' } = entry
  const body = typeof entry.body === 'object' ? Buffer.from(entry.body) : Buffer.from(entry.body ?? '', 'latin1')
  const block = Buffer.alloc(512)
  const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')
  block.write(name.slice(0, 100), 0, 'latin1')
  block.write(octal(mode, 7), 100)
  block.write(octal(uid, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(entry.sizeBytes ?? body.length, 11), 124)
  block.write(octal(1_600_000_000, 11), 136)
  block.write(flag, 156, 'latin1')
  block.write(target.slice(0, 100), 157, 'latin1')
  block.write('ustar\x0000', 257, 'latin1')
  block.write(prefix, 345, 'latin1')
  return Buffer.concat([sealed(block), body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}

/** Returns a PAX extended header for the next entry. */
export function paxOf(records: Readonly<Record<string, string>>): RawTarEntry {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`
    let length = rest.length
    while (length !== rest.length + String(length).length) length = rest.length + String(length).length
    return `${length}${rest}`
  })
  return { name: 'PaxHeader', flag: 'x', body: Buffer.from(lines.join(''), 'latin1') }
}

/** Writes the checksum into a header block. */
export function sealed(block: Buffer): Buffer {
  block.write('        ', 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** An entry of a tar archive: a file, a directory or a symbolic link, all owned by root. */
export interface ArchiveEntry {
  path: string
  mode?: number
  content?: Buffer
  linkTo?: string
}

/** Packs a ustar archive. Paths are at most 100 bytes. A path that ends with "/" is a directory. */
export function packTar(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = entry.content ?? Buffer.alloc(0)
    return [header(entry, content.length), content, Buffer.alloc(-content.length & (BLOCK - 1))]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

function header({ path, mode, linkTo }: ArchiveEntry, size: number): Buffer {
  const isDirectory = path.endsWith('/')
  const type = linkTo !== undefined ? '2' : isDirectory ? '5' : '0'
  const block = Buffer.alloc(BLOCK)
  block.write(path, 0, 100)
  block.write(octal(mode ?? (isDirectory ? 0o755 : 0o644), 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(size, 11), 124)
  block.write(octal(0, 11), 136)
  block.write(' '.repeat(8), 148)
  block.write(type, 156)
  block.write(linkTo ?? '', 157, 100)
  block.write('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\0 `, 148)
  return block
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0')
}

const BLOCK = 512

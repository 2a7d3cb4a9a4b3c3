import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'

/** Corrupts the first block of a pool image that contains `text`. Later reads of the block fail its checksum. */
export function damageBlock(image: string, text: string): void {
  const [offset = ''] = execFileSync('grep', ['-obUa', '-m1', text, image], { encoding: 'utf8' }).split(':')
  const fd = openSync(image, 'r+')
  writeSync(fd, 'changed', Number(offset))
  fsyncSync(fd)
  closeSync(fd)
}

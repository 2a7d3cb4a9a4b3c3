import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'

/** Changes what lies on the disk of a pool where its image holds `text`: whoever reads that block is refused. */
export function damageBlock(image: string, text: string): void {
  const [place = ''] = execFileSync('grep', ['-obUa', '-m1', text, image], { encoding: 'utf8' }).split(':')
  const fd = openSync(image, 'r+')
  writeSync(fd, 'changed', Number(place))
  fsyncSync(fd)
  closeSync(fd)
}

import { bytesOfText, isText } from '../../sdk/typescript/src/byte-names.ts'

/** Returns a path for a system call: a text of `textOfBytes` whose bytes are not UTF-8 becomes those bytes. A pure function. */
export function systemPath(path: string): string | Buffer {
  return isText(path) ? path : Buffer.from(bytesOfText(path))
}

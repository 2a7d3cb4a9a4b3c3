import { createRequire } from 'node:module'
import { describe, expect, test } from '@jest/globals'
import type { FileEntry, SFTPWrapper } from 'ssh2'
import { readNamesAsBytes, type SftpInside, sendNames } from '../../../cli/ssh/sftp-names.ts'
import { encodeNumber } from '../../../cli/ssh/wire-types.ts'
import { bytesOfText, textOfBytes } from '../../../sdk/typescript/src/byte-names.ts'

type ServedSftp = SFTPWrapper & SftpInside & { push(bytes: Buffer): void }

/** Creates ssh2's SFTP server without a connection. `sent` collects its packets, `seen` the paths of requests. */
function serve(): { sftp: ServedSftp; sent: Buffer[]; seen: string[] } {
  const { SFTP } = createRequire(import.meta.url)('ssh2/lib/protocol/SFTP.js') as {
    SFTP: new (client: object, channel: object, options: object) => ServedSftp
  }
  const sent: Buffer[] = []
  const seen: string[] = []
  const channelData = (_: number, bytes: Buffer): void => void sent.push(Buffer.from(bytes))
  const side = { id: 1, state: 'open', window: 1_000_000, packetSize: 32_768 }
  const channel = { type: 'session', incoming: { ...side }, outgoing: { ...side } }
  const sftp = new SFTP({ _protocol: { channelData } }, channel, { server: true })
  readNamesAsBytes(sftp)
  sftp.on('LSTAT', (_: number, path: string) => void seen.push(path))
  sftp.push(Buffer.of(0, 0, 0, 5, INIT, 0, 0, 0, 3))
  sent.length = 0
  return { sftp, sent, seen }
}

function lstatOf(path: Buffer): Buffer {
  const body = Buffer.concat([Buffer.of(LSTAT), encodeNumber(1), encodeNumber(path.length), path])
  return Buffer.concat([encodeNumber(body.length), body])
}

function entriesOf(...names: readonly string[]): FileEntry[] {
  const attrs = { mode: 0o100644, size: 2 ** 40, uid: 1, gid: 2, atime: 3, mtime: 4 }
  return names.map((filename) => ({ filename, longname: `-rw ${filename}`, attrs }))
}

describe('names over SFTP', () => {
  test('come with the bytes that the client sent, whole, by the byte, and several at once', () => {
    const { sftp, seen } = serve()
    const paths = ['/a\xe9', '/a\xe8', '/\xc3\xbc'].map((path) => Buffer.from(path, 'latin1'))
    const packets = Buffer.concat(paths.map(lstatOf))
    sftp.push(packets)
    for (const path of paths) sftp.push(lstatOf(path))
    for (const byte of packets) sftp.push(Buffer.of(byte))
    expect(seen.map((path) => Buffer.from(bytesOfText(path)).toString('latin1'))).toEqual(
      Array.from({ length: 3 }, () => ['/a\xe9', '/a\xe8', '/\xc3\xbc']).flat(),
    )
  })

  test('go as their bytes, and otherwise as ssh2 sends them', () => {
    const { sftp, sent } = serve()
    sendNames(sftp, 7, entriesOf(textOfBytes(Buffer.from('a\xe9', 'latin1')), 'b'))
    const ours = Buffer.concat(sent.splice(0)).toString('latin1')
    sftp.name(7, entriesOf('az', 'b'))
    expect(ours.replaceAll('\xe9', 'z')).toBe(Buffer.concat(sent).toString('latin1'))
    expect(ours.match(/\xe9/g)).toHaveLength(2)
  })

  test('wait in order until the client has room', () => {
    const { sftp, sent } = serve()
    const [first, second] = [entriesOf('\udce9'), entriesOf('\udce8')]
    sftp.outgoing.window = 10
    sendNames(sftp, 1, first)
    sendNames(sftp, 2, second)
    expect(Buffer.concat(sent)).toHaveLength(10)
    sftp.outgoing.window = 1_000_000
    sftp._chunkcb?.()
    const bytes = Buffer.concat(sent).toString('latin1')
    expect([bytes.indexOf('\xe9') > 0, bytes.lastIndexOf('\xe9') < bytes.indexOf('\xe8')]).toEqual([true, true])
    expect(sftp._buffer).toEqual([])
  })
})

const INIT = 1
const LSTAT = 7

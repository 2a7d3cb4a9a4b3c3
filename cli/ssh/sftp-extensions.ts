import type { SFTPWrapper } from 'ssh2'
import { textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { FileError } from './box-files.ts'
import type { SftpInside } from './sftp-names.ts'
import type { SftpServer } from './sftp-server.ts'
import type { SftpReply } from './sftp-text.ts'
import { encodeString } from './wire-types.ts'

/** Announces the extensions in the first answer, because ssh2 sends only its version. Call it before anything is sent. */
export function announceExtensions(sftp: SFTPWrapper): void {
  const inside = sftp as unknown as SftpInside
  const { _protocol: protocol, outgoing } = inside
  inside._protocol = Object.create(protocol, {
    channelData: {
      value: (channel: number, version: Buffer) => {
        inside._protocol = protocol
        const answer = withExtensions(version)
        outgoing.window -= answer.length - version.length
        protocol.channelData(channel, answer)
      },
    },
  }) as SftpInside['_protocol']
}

/** Serves an extended request, with its strings in `data`. @throws FileError for an unknown one, and the errors of the server */
export function serveExtension(server: SftpServer, name: string, data: Uint8Array | undefined): Promise<SftpReply> {
  const extension = Object.hasOwn(EXTENSIONS, name) ? EXTENSIONS[name] : undefined
  const [path, other = ''] = stringsOf(data ?? new Uint8Array())
  if (extension === undefined || path === undefined) throw new FileError('unsupported', `${name}: not supported.`)
  return extension.serve(server, path, other)
}

/** Extensions of OpenSSH (PROTOCOL, section 4), by their names. Each takes one path or two. */
const EXTENSIONS: Readonly<Record<string, Extension>> = {
  'posix-rename@openssh.com': { version: '1', serve: (server, from, to) => server.replace(from, to) },
  'hardlink@openssh.com': { version: '1', serve: (server, target, path) => server.hardLink(path, target) },
  'statvfs@openssh.com': { version: '2', serve: (server, path) => server.space(path) },
}

interface Extension {
  version: string
  serve(server: SftpServer, path: string, other: string): Promise<SftpReply>
}

/** Returns a version packet with the extensions. A pure function. */
function withExtensions(version: Buffer): Buffer {
  const more = Object.entries(EXTENSIONS).flatMap(([name, extension]) => [name, extension.version].map(encodeString))
  const packet = Buffer.concat([version, ...more])
  packet.writeUInt32BE(packet.length - LENGTH_BYTES, 0)
  return packet
}

/** Reads complete strings, each preceded by its length. */
function stringsOf(data: Uint8Array): string[] {
  const bytes = Buffer.from(data)
  const texts: string[] = []
  let at = 0
  while (at + LENGTH_BYTES <= bytes.length) {
    const end = at + LENGTH_BYTES + bytes.readUInt32BE(at)
    if (end > bytes.length) break
    texts.push(textOfBytes(bytes.subarray(at + LENGTH_BYTES, end)))
    at = end
  }
  return texts
}

const LENGTH_BYTES = 4

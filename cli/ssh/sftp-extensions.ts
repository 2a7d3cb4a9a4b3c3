import type { SFTPWrapper } from 'ssh2'
import { textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { FileError } from './box-files.ts'
import type { SftpInside } from './sftp-names.ts'
import type { SftpServer } from './sftp-server.ts'
import type { SftpReply } from './sftp-text.ts'
import { encodeString } from './wire-types.ts'

/** Tells the client of the extensions in the first answer, where ssh2 tells of its version alone. To be called before anything is sent. */
export function announceExtensions(sftp: SFTPWrapper): void {
  const inside = sftp as unknown as SftpInside
  const { _protocol: protocol, outgoing } = inside
  inside._protocol = Object.create(protocol, {
    channelData: {
      value: (channel: number, version: Buffer) => {
        inside._protocol = protocol
        const answer = withExtensions(version, Object.keys(EXTENSIONS))
        outgoing.window -= answer.length - version.length
        protocol.channelData(channel, answer)
      },
    },
  }) as SftpInside['_protocol']
}

/** Serves an extended request, which `data` are the strings of. @throws FileError for one that is none of ours, and what the server throws */
export function serveExtension(server: SftpServer, name: string, data: Uint8Array | undefined): Promise<SftpReply> {
  const serve = Object.hasOwn(EXTENSIONS, name) ? EXTENSIONS[name] : undefined
  const [from, to] = stringsOf(data ?? new Uint8Array())
  if (serve === undefined || from === undefined || to === undefined)
    throw new FileError('unsupported', `${name}: it is not supported.`)
  return serve(server, from, to)
}

/** Extensions of OpenSSH (PROTOCOL, section 4) that take two paths. */
const EXTENSIONS: Readonly<Record<string, (server: SftpServer, from: string, to: string) => Promise<SftpReply>>> = {
  'posix-rename@openssh.com': (server, from, to) => server.replace(from, to),
  'hardlink@openssh.com': (server, from, to) => server.hardLink(to, from),
}

/** Returns a version packet with extensions, each with the version that these have. A pure function. */
function withExtensions(version: Buffer, names: readonly string[]): Buffer {
  const more = names.flatMap((name) => [name, '1']).map(encodeString)
  const packet = Buffer.concat([version, ...more])
  packet.writeUInt32BE(packet.length - LENGTH_BYTES, 0)
  return packet
}

/** Reads strings with their lengths before them, as far as they are whole. */
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

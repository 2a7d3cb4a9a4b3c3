import type { SFTPWrapper } from 'ssh2'
import type { SshGuest } from './guest.ts'
import { announceExtensions, serveExtension } from './sftp-extensions.ts'
import { readNamesAsBytes, type SftpInside, sendNames, sendPacket } from './sftp-names.ts'
import { createSftpServer, type SftpServer, statusOf } from './sftp-server.ts'
import { type SftpReply, spacePacket } from './sftp-text.ts'

/**
 * Serves SFTP (version 3) on the files of a box, until the client ends it or `gone`. Handles one request after another, because their
 * effects must be visible in that order. The client limits how many requests it sends at once.
 */
export function serveSftp(sftp: SFTPWrapper, guest: SshGuest, gone: AbortSignal): void {
  const ready = guest.account().then((account) => createSftpServer(guest, account))
  // Each request reports it.
  ready.catch(() => undefined)
  let last: Promise<void> = Promise.resolve()
  const answer = (id: number, handle: (server: SftpServer) => Promise<SftpReply>): void => {
    last = last.then(async () => {
      if (gone.aborted) return
      try {
        send(sftp, id, await handle(await ready))
      } catch (error) {
        const { code, message } = statusOf(error)
        sftp.status(id, code, message)
      }
    })
  }
  const leave = (): void => void ready.then((server) => server.leave()).catch(() => undefined)
  if (gone.aborted) leave()
  else gone.addEventListener('abort', leave, { once: true })
  announceExtensions(sftp)
  readNamesAsBytes(sftp)
  sftp.on('error', () => undefined)
  sftp.once('end', () => void last.finally(() => end(sftp)))
  sftp.on('OPEN', (id, ...given) => answer(id, (server) => server.open(...given)))
  sftp.on('READ', (id, ...given) => answer(id, (server) => server.read(...given)))
  sftp.on('WRITE', (id, ...given) => answer(id, (server) => server.write(...given)))
  sftp.on('CLOSE', (id, handle) => answer(id, (server) => server.close(handle)))
  sftp.on('FSTAT', (id, handle) => answer(id, (server) => server.statOpen(handle)))
  sftp.on('FSETSTAT', (id, handle, attrs) => answer(id, (server) => server.changeOpen(handle, attrs)))
  sftp.on('OPENDIR', (id, path) => answer(id, (server) => server.openDirectory(path)))
  sftp.on('READDIR', (id, handle) => answer(id, (server) => server.readDirectory(handle)))
  sftp.on('LSTAT', (id, path) => answer(id, (server) => server.lstat(path)))
  sftp.on('STAT', (id, path) => answer(id, (server) => server.stat(path)))
  sftp.on('SETSTAT', (id, path, attrs) => answer(id, (server) => server.change(path, attrs)))
  sftp.on('REMOVE', (id, path) => answer(id, (server) => server.remove(path, 'other')))
  sftp.on('RMDIR', (id, path) => answer(id, (server) => server.remove(path, 'directory')))
  sftp.on('MKDIR', (id, path, attrs) => answer(id, (server) => server.makeDirectory(path, attrs)))
  sftp.on('RENAME', (id, from, to) => answer(id, (server) => server.rename(from, to)))
  sftp.on('REALPATH', (id, path) => answer(id, (server) => server.realPath(path)))
  sftp.on('READLINK', (id, path) => answer(id, (server) => server.readLink(path)))
  // ssh2 passes the two in this order, whichever order the client sends them in.
  sftp.on('SYMLINK', (id, path, target) => answer(id, (server) => server.link(path, target)))
  sftp.on('EXTENDED', (id, name, data) => answer(id, (server) => serveExtension(server, name, data)))
}

function send(sftp: SFTPWrapper, id: number, reply: SftpReply): void {
  switch (reply.kind) {
    case 'status':
      return sftp.status(id, reply.code)
    case 'handle':
      return sftp.handle(id, reply.handle)
    case 'data':
      return sftp.data(id, Buffer.from(reply.bytes.buffer, reply.bytes.byteOffset, reply.bytes.length))
    case 'names':
      return sendNames(sftp, id, reply.names)
    case 'attrs':
      return sftp.attrs(id, reply.attrs)
    case 'space':
      return sendPacket(sftp, spacePacket(id, reply.space))
  }
}

// ssh2 sends no exit status for SFTP, without which the client would report a lost connection.
function end(sftp: SFTPWrapper): void {
  const { _protocol: protocol, outgoing } = sftp as unknown as SftpInside
  if (outgoing.state === 'open') protocol.exitStatus(outgoing.id, 0)
  sftp.end()
}

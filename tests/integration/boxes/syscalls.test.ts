import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { isPrivateMountNamespace } from '../../../agent/lib/mounts/namespace.ts'
import { CommandError, run, runOk, spawnChild } from '../../../agent/lib/run.ts'
import { allocateFile, closeFd, controlBuffer, lockFile, openPipe } from '../../../agent/lib/syscalls/descriptors.ts'
import { createPollSet, EPOLL, openEvent, openPid, signalPid, waitForPid } from '../../../agent/lib/syscalls/events.ts'
import {
  fileHandle,
  makeDirectoryAt,
  O,
  openBelow,
  openHandle,
  RENAME,
  RESOLVE,
  readFd,
  renameBetween,
  writeFd,
} from '../../../agent/lib/syscalls/files.ts'
import {
  AT,
  attachMountAt,
  cloneMount,
  MOUNT_ATTR,
  mountFilesystem,
  setMountAttributes,
  UMOUNT,
  unmount,
} from '../../../agent/lib/syscalls/mounts.ts'
import { openNftables } from '../../../agent/lib/syscalls/nftables.ts'
import { acceptNow, openNamelessListener, receiveFds } from '../../../agent/lib/syscalls/sockets.ts'

let directory = ''
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-syscalls-'))
})
afterEach(() => {
  fs.rmSync(directory, { recursive: true, force: true })
})

describe('descriptors', () => {
  test('a failed call throws an error with its code and name', () => {
    expect(() => closeFd(9_999)).toThrow(expect.objectContaining({ code: 'EBADF', syscall: 'close' }))
    expect(() => openBelow(AT.FDCWD, '/no-such-file', { flags: O.RDONLY })).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    )
  })

  test('a pipe carries bytes and is close-on-exec', () => {
    const { readFd: from, writeFd: to } = openPipe()
    writeFd(to, Buffer.from('hello'))
    const buffer = Buffer.alloc(16)
    expect(buffer.subarray(0, readFd(from, buffer)).toString()).toBe('hello')
    const flags = fs.readFileSync(`/proc/self/fdinfo/${from}`, 'utf8')
    expect(Number.parseInt(/flags:\s+(\d+)/.exec(flags)?.[1] ?? '0', 8) & O.CLOEXEC).toBe(O.CLOEXEC)
    closeFd(to)
    expect(readFd(from, buffer)).toBe(0)
    closeFd(from)
  })

  test('an exclusive lock keeps a second holder out until it is dropped', () => {
    const file = path.join(directory, 'lock')
    const first = openBelow(AT.FDCWD, file, { flags: O.RDWR | O.CREAT, mode: 0o600 })
    const second = openBelow(AT.FDCWD, file, { flags: O.RDWR })
    expect(lockFile(first, 'exclusive')).toBe(true)
    expect(lockFile(second, 'exclusive')).toBe(false)
    expect(lockFile(first, 'unlock')).toBe(true)
    expect(lockFile(second, 'exclusive')).toBe(true)
    closeFd(first)
    closeFd(second)
  })

  test('an allocated file has its blocks', async () => {
    const fd = openBelow(AT.FDCWD, path.join(directory, 'image'), { flags: O.RDWR | O.CREAT, mode: 0o600 })
    await allocateFile(fd, 0, 3 * 1024 * 1024)
    const stat = fs.fstatSync(fd)
    expect(stat.size).toBe(3 * 1024 * 1024)
    expect(stat.blocks * 512).toBeGreaterThanOrEqual(stat.size)
    closeFd(fd)
  })

  test('an ioctl that the file does not know is ENOTTY', () => {
    const fd = openBelow(AT.FDCWD, directory, { flags: O.RDONLY | O.DIRECTORY })
    expect(() => controlBuffer(fd, 0x5401, Buffer.alloc(64))).toThrow(expect.objectContaining({ code: 'ENOTTY' }))
    closeFd(fd)
  })
})

describe('sockets without a name', () => {
  test('a holder of the descriptor connects, and nothing is left in the directory', async () => {
    const { listenFd, doorFd } = openNamelessListener(directory)
    expect(fs.readdirSync(directory)).toEqual([])
    expect(acceptNow(listenFd)).toBeNull()
    const client = net.connect(`/proc/self/fd/${doorFd}`)
    await once(client, 'connect')
    const accepted = acceptNow(listenFd)
    expect(accepted).not.toBeNull()
    for (const fd of [listenFd, doorFd, accepted ?? -1]) {
      const flags = Number.parseInt(
        /flags:\s+(\d+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '',
        8,
      )
      expect(flags & O.CLOEXEC).toBe(O.CLOEXEC)
    }
    expect(receiveFds(accepted ?? -1)).toEqual([])
    await new Promise((resolve) => client.write('no descriptor', resolve))
    expect(receiveFds(accepted ?? -1)).toEqual([])
    client.destroy()
    for (const fd of [listenFd, doorFd, accepted ?? -1]) closeFd(fd)
  })

  test('a directory that is missing is an error, and no descriptor stays open', () => {
    const before = fs.readdirSync('/proc/self/fd').length
    expect(() => openNamelessListener(`${directory}/none`)).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    expect(fs.readdirSync('/proc/self/fd')).toHaveLength(before)
  })
})

describe('paths', () => {
  test('no link leads out of the root it is opened below', () => {
    fs.writeFileSync(path.join(directory, 'inside'), 'inside')
    fs.symlinkSync('../../../../../../inside', path.join(directory, 'up'))
    fs.symlinkSync('/etc/passwd', path.join(directory, 'away'))
    const root = openBelow(AT.FDCWD, directory, { flags: O.PATH | O.DIRECTORY })
    const resolve = RESOLVE.IN_ROOT | RESOLVE.NO_MAGICLINKS
    const fd = openBelow(root, '/up', { flags: O.RDONLY, resolve })
    const buffer = Buffer.alloc(16)
    expect(buffer.subarray(0, readFd(fd, buffer)).toString()).toBe('inside')
    closeFd(fd)
    expect(() => openBelow(root, '/away', { flags: O.RDONLY, resolve })).toThrow(
      expect.objectContaining({ code: 'ENOENT' }),
    )
    closeFd(root)
  })

  test('a rename without replacing refuses an existing name', () => {
    const root = openBelow(AT.FDCWD, directory, { flags: O.RDONLY | O.DIRECTORY })
    makeDirectoryAt(root, 'a', 0o700)
    makeDirectoryAt(root, 'b', 0o700)
    const rename = { fromFd: root, fromName: 'a', toFd: root, toName: 'b' }
    expect(() => renameBetween({ ...rename, flags: RENAME.NOREPLACE })).toThrow(
      expect.objectContaining({ code: 'EEXIST' }),
    )
    renameBetween(rename)
    expect(fs.readdirSync(directory)).toEqual(['b'])
    closeFd(root)
  })

  test('a handle opens the same file again', () => {
    fs.writeFileSync(path.join(directory, 'file'), 'x')
    const root = openBelow(AT.FDCWD, directory, { flags: O.RDONLY | O.DIRECTORY })
    const fd = openHandle(root, fileHandle(root, 'file'), O.RDONLY)
    expect(fs.fstatSync(fd).ino).toBe(fs.statSync(path.join(directory, 'file')).ino)
    closeFd(fd)
    closeFd(root)
  })
})

describe('mounts', () => {
  test('a detached copy of a mount is made read-only and attached', () => {
    expect(isPrivateMountNamespace()).toBe(true)
    const source = path.join(directory, 'source')
    const target = path.join(directory, 'target')
    fs.mkdirSync(source)
    fs.mkdirSync(target)
    mountFilesystem({ source: 'none', target: source, type: 'tmpfs', flags: 0, data: 'size=1m' })
    try {
      fs.writeFileSync(path.join(source, 'file'), 'x')
      const mountFd = cloneMount(AT.FDCWD, source)
      setMountAttributes(mountFd, { set: MOUNT_ATTR.RDONLY | MOUNT_ATTR.NOSUID })
      attachMountAt(mountFd, target)
      closeFd(mountFd)
      expect(fs.readFileSync(path.join(target, 'file'), 'utf8')).toBe('x')
      expect(() => fs.writeFileSync(path.join(target, 'file'), 'y')).toThrow(/EROFS/)
      unmount(target)
      expect(() => unmount(target)).toThrow(expect.objectContaining({ code: 'EINVAL' }))
    } finally {
      unmount(source, UMOUNT.DETACH)
    }
  })
})

describe('events', () => {
  test('a process is watched and signalled by its descriptor', async () => {
    const child = spawnChild('sleep', ['60'])
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const fd = openPid(child.pid ?? 0)
    expect(await waitForPid(fd, AbortSignal.timeout(20))).toBe('aborted')
    const gone = waitForPid(fd)
    expect(signalPid(fd, 'SIGKILL')).toBe(true)
    expect(await gone).toBe('gone')
    await exited
    expect(signalPid(fd, 'SIGTERM')).toBe(false)
    closeFd(fd)
  })

  test('a poll set returns the descriptors that are ready', async () => {
    const [quiet, loud] = [openEvent(), openEvent()]
    const set = createPollSet()
    set.add(quiet, EPOLL.IN, 7)
    set.add(loud, EPOLL.IN | EPOLL.EDGE, 8)
    expect(set.ready()).toEqual([])
    const seen = new Promise((resolve) => set.watch(resolve))
    const one = Buffer.alloc(8)
    one.writeBigUInt64LE(1n)
    writeFd(loud, one)
    expect(await seen).toEqual([{ key: 8, events: EPOLL.IN }])
    set.close()
    closeFd(quiet)
    closeFd(loud)
  })
})

describe('nftables', () => {
  test('commands run in this network namespace, and an error has the reason', () => {
    // Runs in its own network namespace, which leaves the host's rules untouched.
    const library = path.resolve('agent/lib/syscalls/nftables.ts')
    const script = `
      import { openNftables } from ${JSON.stringify(library)}
      const nft = openNftables({ json: true })
      nft.run('add table inet t; add set inet t s { type ipv4_addr; }; add element inet t s { 10.0.0.1 }')
      const listed = JSON.parse(nft.run('list set inet t s'))
      let fault = ''
      try { nft.run('add rule inet absent c accept') } catch (error) { fault = error.detail }
      nft.close()
      console.log(JSON.stringify({ listed: listed.nftables.length, fault: /No such file/.test(fault) }))`
    const file = path.join(directory, 'nft.mts')
    fs.writeFileSync(file, script)
    const result = spawnSync('unshare', ['--net', process.execPath, file], { encoding: 'utf8' })
    expect(result.stderr).toBe('')
    expect(JSON.parse(result.stdout)).toEqual({ listed: 2, fault: true })
  })

  test('an invalid command throws', () => {
    const nft = openNftables()
    expect(() => nft.run('nonsense')).toThrow(/syntax error/)
    nft.close()
  })
})

describe('run', () => {
  test('output, exit code and input pass through', async () => {
    const result = await run('sh', ['-c', 'cat; echo bad >&2; exit 3'], { input: 'text' })
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'text',
      stderr: 'bad\n',
      timedOut: false,
      truncated: false,
    })
  })

  test('a program that is missing rejects with ENOENT', async () => {
    await expect(run('no-such-program', [])).rejects.toMatchObject({ code: 'ENOENT' })
  })

  test('a failure is an error whose facts are fields', async () => {
    const failure: unknown = await runOk('sh', ['-c', 'echo why >&2; exit 7']).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(CommandError)
    expect(failure).toMatchObject({ exitCode: 7, stderr: 'why\n', timedOut: false })
  })

  test('a command past its time ends with all it started', async () => {
    const before = Date.now()
    const result = await run('sh', ['-c', 'sleep 61 & sleep 61'], { timeoutMs: 50 })
    expect(result).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGTERM' })
    expect(Date.now() - before).toBeLessThan(30_000)
  })

  test('an aborted command rejects with the reason once it is gone', async () => {
    const reason = new Error('enough')
    const controller = new AbortController()
    const running = run('sleep', ['61'], { signal: controller.signal })
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
  })

  test('output beyond the bound is dropped and a daemon holding the pipe is not waited for', async () => {
    const long = await run('sh', ['-c', 'head -c 100000 /dev/zero'], { maxOutputBytes: 10 })
    expect(long.stdout).toHaveLength(10)
    expect(long.truncated).toBe(true)
    const before = Date.now()
    await run('sh', ['-c', 'sleep 20 & echo started'])
    expect(Date.now() - before).toBeLessThan(15_000)
  })
})

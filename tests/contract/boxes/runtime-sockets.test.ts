import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { BoxSocket } from '../../../agent/ports/boxes/box-socket.ts'
import { startWithPerl } from '../../helpers/boxes/hostile.ts'
import { execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

const BOX = 'box_sockets'
/** Keeps Perl from complaining about the locale. */
const C = { LC_ALL: 'C' }

describe('a socket in a box', () => {
  let lab: OciLab
  let socket: BoxSocket
  const taken: Duplex[] = []
  let mostAtOnce = 0

  beforeAll(async () => {
    lab = await openOciLab()
    await startWithPerl(lab.runtime, lab.spec(BOX))
  })

  afterEach(async () => {
    await socket.close()
    taken.splice(0)
    mostAtOnce = 0
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  /** Opens a socket that greets its clients. */
  const open = async (user: string | null, id = BOX): Promise<void> => {
    socket = await lab.runtime.openSocket(id, { user })
    socket.serve((connection) => {
      taken.push(connection)
      mostAtOnce = Math.max(mostAtOnce, taken.filter(({ destroyed }) => !destroyed).length)
      connection.resume().once('end', () => connection.end())
      connection.write('hello')
    })
  }
  /** Connects as a user of the box, and returns the greeting. */
  const greet = async (user: string | null, path = socket.path): Promise<string> => {
    const program = `use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => '${path}') or die "$!\\n"; sysread($s, my $d, 5); print $d`
    const { stdout, stderr } = await execute(lab.runtime, BOX, ['perl', '-e', program], { user, environment: C })
    return stdout === '' ? stderr.trim() : stdout
  }
  const shell = async (line: string): Promise<string> => (await execute(lab.runtime, BOX, line)).stdout.trim()

  test('serves its user and root, and no other user, whatever the modes say', async () => {
    await open('1000')
    expect(await shell(`stat -c '%a %u' ${socket.path} $(dirname ${socket.path})`)).toBe('600 1000\n700 1000')
    expect(await greet('1000')).toBe('hello')
    expect(await greet(null)).toBe('hello')
    expect(await greet('1001')).toMatch(/Permission denied/)
    await shell(`chmod 777 ${socket.path} $(dirname ${socket.path})`)
    expect(await greet('1001')).toBe('')
  })

  test('is of the network of the box, not of the host', async () => {
    await open(null)
    expect(await shell('cat /proc/net/unix')).toContain(socket.path)
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(socket.path)
  })

  test('cannot be taken from the process that names it, also by root of the box', async () => {
    await open('1000')
    const line = "pid=$(ps -o pid,args | awk '/[s]sh-agent-socket/ { print $1 }'); ls /proc/$pid/fd 2>&1"
    for (const user of [null, '1000'])
      expect((await execute(lab.runtime, BOX, line, { user })).stdout).toMatch(/Permission denied/)
  })

  test('is gone once it is closed, with its directory and connections', async () => {
    await open(null)
    expect(await greet(null)).toBe('hello')
    await socket.close()
    expect(await shell('ls -d /tmp/ssh-* 2>&1')).toMatch(/No such file/)
    expect(await greet(null)).toMatch(/No such file/)
    expect(taken.map(({ destroyed }) => destroyed)).toEqual([true])
  })

  test('leaves nothing of a program that is connected when it is closed', async () => {
    await open(null)
    const program = `use IO::Socket::UNIX; my $s = IO::Socket::UNIX->new(Peer => '${socket.path}') or die; sysread($s, my $d, 5); print sysread($s, $d, 1)`
    const ended = execute(lab.runtime, BOX, ['perl', '-e', program], { environment: C })
    await untilTrue(() => taken.length === 1)
    await socket.close()
    expect((await ended).stdout).toBe('0')
  })

  test('takes 8 connections at once of a thousand that a program makes', async () => {
    await open(null)
    const program = `use Socket; use Fcntl; my @held; for (1..1000) { socket(my $s, AF_UNIX, SOCK_STREAM, 0) or last;
      fcntl($s, F_SETFL, O_NONBLOCK); push @held, $s if connect($s, pack_sockaddr_un('${socket.path}')) } print scalar(@held), "\\n"; $| = 1; sleep 2`
    const { stdout } = await execute(lab.runtime, BOX, ['perl', '-e', program], { environment: C })
    // The box's queue has places for 17 waiting connections.
    expect(Number(stdout)).toBeLessThanOrEqual(8 + 17)
    await untilTrue(() => taken.length > 8 && taken.every(({ destroyed }) => destroyed))
    expect(mostAtOnce).toBe(8)
  })

  test('ends with its box', async () => {
    const spec = lab.spec('box_socket_ends')
    await lab.runtime.start(spec)
    await open(null, spec.id)
    await lab.runtime.stop(spec.id, { graceMs: 2_000 })
    await socket.close()
    await expect(lab.runtime.openSocket(spec.id, { user: null })).rejects.toMatchObject({ code: 'box_not_running' })
  })

  test('is refused with the reason where the box has no place for it', async () => {
    await open(null)
    await socket.close()
    await shell('mv /tmp /tmp.away; echo > /tmp')
    await expect(lab.runtime.openSocket(BOX, { user: null })).rejects.toMatchObject({
      code: 'path_invalid',
      message: expect.stringContaining('The box cannot hold a socket in /tmp (ENOTDIR).'),
    })
    await shell('rm /tmp; mv /tmp.away /tmp')
    await expect(lab.runtime.openSocket(BOX, { user: 'nobody-here' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })
})

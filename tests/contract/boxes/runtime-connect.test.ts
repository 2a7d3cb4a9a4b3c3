import { createHash, randomBytes } from 'node:crypto'
import { readlinkSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { PortConnection } from '../../../agent/ports/boxes/port-connection.ts'
import { startWithPerl } from '../../helpers/boxes/hostile.ts'
import { execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

const BOX = 'box_ports'

describe('a connection to a port of a box', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    for (const id of [BOX, 'box_other']) await startWithPerl(lab.runtime, lab.spec(id))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  let lastPort = 7000
  /** Starts a Perl program with `$PORT` in the background, and resolves once it listens. */
  const listen = async (id: string, address: string, serve: string): Promise<number> => {
    const port = ++lastPort
    const program = `${SERVER} my $PORT = ${port}; my $l = server('${address}', $PORT); open(STDOUT, '>/dev/null'); ${serve}`
    writeFileSync(`${lab.home}/roots/${id}/tmp/server-${port}`, program)
    const start = `perl /tmp/server-${port} >/tmp/out-${port} 2>&1 </dev/null & sleep 0`
    await execute(lab.runtime, id, start)
    // In hexadecimal, with the state for a listening socket.
    const hex = port.toString(16).toUpperCase().padStart(4, '0')
    await untilTrue(async () => {
      const { stdout } = await execute(lab.runtime, id, 'cat /proc/net/tcp /proc/net/tcp6 2>/dev/null')
      return new RegExp(`:${hex} [0-9A-F]+:0000 0A`).test(stdout)
    })
    return port
  }
  const connect = (port: number, id = BOX): Promise<PortConnection> => lab.runtime.connect(id, port)
  const said = async (port: number): Promise<string> => {
    const { stream } = await connect(port)
    stream.end()
    return text(stream)
  }
  const ECHO = 'serve($l, sub { my $c = shift; while (sysread($c, my $d, 65536)) { put($c, $d) } })'
  const WHOM = "serve($l, sub { my $c = shift; put($c, $c->sockhost . ' from ' . $c->peerhost) })"

  test('reaches loopback alone, the own address alone, and loopback first where both listen', async () => {
    const own = String(await lab.network.addressOf(BOX))
    expect(await said(await listen(BOX, '127.0.0.1', WHOM))).toBe('127.0.0.1 from 127.0.0.1')
    expect(await said(await listen(BOX, own, WHOM))).toBe(`${own} from ${own}`)
    expect(await said(await listen(BOX, '0.0.0.0', WHOM))).toBe('127.0.0.1 from 127.0.0.1')
  })

  test('is refused by its port where nothing listens, whoever else listens there', async () => {
    const inOther = await listen('box_other', '0.0.0.0', WHOM)
    for (const port of [inOther, 65_535]) {
      const refused = connect(port)
      await expect(refused).rejects.toMatchObject({
        code: 'port_not_listening',
        message: expect.stringContaining(`${port}`),
      })
    }
    expect((await connect(inOther, 'box_other')).stream.destroy().destroyed).toBe(true)
  })

  test('is refused for a box that does not run, and for one that is not there', async () => {
    const spec = lab.spec('box_over')
    await lab.runtime.start(spec)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    for (const id of [spec.id, 'box_absent'])
      await expect(connect(80, id)).rejects.toMatchObject({ code: 'box_not_running' })
  })

  test('does not wait for a program that takes no connections, and names the port', async () => {
    const port = await listen(BOX, '127.0.0.1', 'sleep 900')
    const held: PortConnection[] = []
    const fill = async (): Promise<unknown> => {
      for (;;) held.push(await connect(port))
    }
    await expect(fill()).rejects.toMatchObject({
      code: 'port_unreachable',
      message: expect.stringContaining(`${port}`),
    })
    for (const each of held) each.reset()
    await execute(lab.runtime, BOX, `pkill -f server-${port}`)
  })

  test('carries bytes both ways, unchanged, and each direction ends without the other', async () => {
    const port = await listen(BOX, '127.0.0.1', ECHO)
    const sent = randomBytes(8 * 1024 ** 2)
    const { stream } = await connect(port)
    const back = createHash('sha256')
    stream.on('data', (piece: Buffer) => back.update(piece))
    stream.end(sent)
    await finished(stream)
    expect(back.digest('hex')).toBe(createHash('sha256').update(sent).digest('hex'))
    const late = await listen(
      BOX,
      '127.0.0.1',
      "serve($l, sub { my $c = shift; put($c, 'first'); shutdown($c, 1); my $got = 0; while (my $n = sysread($c, my $d, 65536)) { $got += $n } open(my $f, '>', '/tmp/got'); print $f $got; close $f })",
    )
    const other = await connect(late)
    expect(await text(other.stream)).toBe('first')
    other.stream.end(Buffer.alloc(100_000))
    await untilTrue(async () => (await execute(lab.runtime, BOX, 'cat /tmp/got')).stdout === '100000')
  })

  test('makes the side wait that the other does not read', async () => {
    const port = await listen(
      BOX,
      '127.0.0.1',
      'serve($l, sub { my $c = shift; while (1) { put($c, "x" x 65536) or last } })',
    )
    const { stream, reset } = await connect(port)
    await untilTrue(() => stream.readableLength > 0)
    const before = stream.readableLength
    expect(before).toBeLessThanOrEqual(2 * 65_536)
    reset()
    await untilTrue(() => stream.destroyed)
  })

  test('that is reset is an error for the program, and one that is closed an end', async () => {
    const port = await listen(
      BOX,
      '127.0.0.1',
      "serve($l, sub { my $c = shift; put($c, 'go'); my $n; 1 while $n = sysread($c, my $d, 65536); my $how = defined $n ? 'end' : 'error'; open(my $f, '>>', '/tmp/how'); print $f \"$how\\n\"; close $f })",
    )
    const how = async (count: number): Promise<string[]> => {
      let lines: string[] = []
      await untilTrue(async () => {
        lines = (await execute(lab.runtime, BOX, 'cat /tmp/how')).stdout.trim().split('\n').filter(Boolean)
        return lines.length === count
      })
      return lines
    }
    for (const act of ['close', 'reset'] as const) {
      const connection = await connect(port)
      await new Promise((resolve) => connection.stream.once('data', resolve))
      connection[act]()
      await how(act === 'close' ? 1 : 2)
    }
    expect(await how(2)).toEqual(['end', 'error'])
  })

  test('that the program resets is an error', async () => {
    const program =
      "serve($l, sub { my $c = shift; setsockopt($c, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)); sysread($c, my $d, 1) })"
    const { stream } = await connect(await listen(BOX, '127.0.0.1', program))
    stream.write('x')
    await expect(finished(stream.resume())).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('ends when its box stops, in both directions', async () => {
    const spec = lab.spec('box_stops')
    await startWithPerl(lab.runtime, spec)
    const { stream } = await connect(await listen(spec.id, '127.0.0.1', ECHO), spec.id)
    const ended = finished(stream.resume()).catch((error: unknown) => error)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await ended
    expect(stream.destroyed).toBe(true)
  })

  test('goes to a box that an earlier agent started, and leaves this process in its own network', async () => {
    const before = readlinkSync('/proc/self/ns/net')
    const port = await listen(BOX, '127.0.0.1', ECHO)
    await lab.reopen()
    const all = await Promise.all(Array.from({ length: 100 }, () => connect(port)))
    const answers = await Promise.all(
      all.map(({ stream }, index) => {
        stream.end(`to ${index}`)
        return text(stream)
      }),
    )
    expect(answers).toEqual(all.map((_, index) => `to ${index}`))
    expect(readlinkSync('/proc/self/ns/net')).toBe(before)
  })
})

/** Code that the servers share. Each client gets its own process. */
const SERVER = `use Socket; use IO::Socket::INET; $SIG{CHLD} = 'IGNORE'; $SIG{PIPE} = 'IGNORE';
sub server { IO::Socket::INET->new(LocalAddr => $_[0], LocalPort => $_[1], Listen => 128, ReuseAddr => 1) or die $! }
sub put { my ($c, $d) = @_; my $at = 0; while ($at < length $d) { my $n = syswrite($c, $d, length($d) - $at, $at) or return 0; $at += $n } 1 }
sub serve { my ($l, $act) = @_; while (my $c = $l->accept) { if (fork) { close $c } else { close $l; $act->($c); exit } } }
`

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { PassThrough, Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createShimFrameReader } from '../../../agent/drivers/exec/shim-frames.ts'
import { MemoryRing } from '../../../agent/lib/output/memory-ring.ts'
import { type AttachedClients, createAttachedClients } from '../../../agent/shim/attachments.ts'
import { createValve } from '../../../shared/valve.ts'
import { eventually } from '../../helpers/eventually.ts'

const KEPT_BYTES = 64 * 1024
const PACE_BYTES = 16 * 1024

describe('an audience', () => {
  let server: Server
  let audience: AttachedClients
  let source: PassThrough
  let ring: MemoryRing
  const sockets: Socket[] = []

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    source = new PassThrough()
    ring = new MemoryRing(KEPT_BYTES)
    const stdin = new Writable({ write: (_chunk, _encoding, done) => done() })
    audience = createAttachedClients({
      ...{ stdin, isTerminal: false, terminal: null, endsInput: true },
      streams: [
        { kind: 'stdout', kept: ring, replayFrom: () => 0, sources: [createValve(source)], maxLagBytes: PACE_BYTES },
      ],
    })
    source.on('data', (chunk: Buffer) => {
      ring.push(chunk)
      audience.onOutput()
    })
  })

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    server.close()
  })

  /** Connects a client that reads nothing before the call of `read`. */
  const join = async (): Promise<{ far: Socket; read(): () => string }> => {
    const address = server.address()
    const connected = once(server, 'connection')
    const far = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1').pause()
    const [socket] = (await connected) as [Socket]
    sockets.push(
      far,
      socket.on('error', () => undefined),
    )
    audience.join({ socket, rest: Buffer.alloc(0), typing: 'all', onAccepted: () => undefined })
    const read = (): (() => string) => {
      const reader = createShimFrameReader()
      let text = ''
      far.on('data', (chunk: Buffer) => {
        for (const frame of reader.push(chunk)) if (frame.kind === 'stdout') text += frame.bytes.toString() || '(end)'
      })
      far.resume()
      return () => text
    }
    return { far, read }
  }
  const turns = (isTrue: () => boolean): Promise<void> => eventually(isTrue, 5)
  const flood = async (): Promise<void> => {
    const before = ring.totalBytes
    while (!source.isPaused() && ring.totalBytes - before < 50_000_000) {
      source.write(Buffer.alloc(10_000, 'x'))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  test('without members never stops the output', async () => {
    await flood()
    expect(ring.totalBytes).toBeGreaterThanOrEqual(50_000_000)
  })

  test('stops the output while all are behind, and lets it go on as soon as one is not, or all have left', async () => {
    const [first, second] = [await join(), await join()]
    await flood()
    expect(source.isPaused()).toBe(true)
    const text = first.read()
    await turns(() => !source.isPaused())
    // This client can have missed some output. The kernel may have accepted more for the other client, and the ring does not keep that for
    // long.
    source.write('last')
    await turns(() => text().endsWith('last'))
    expect(text().replace(/^x+/, '')).toBe('last')
    first.far.destroy()
    await turns(() => audience.size === 1)
    await flood()
    expect(source.isPaused()).toBe(true)
    second.far.destroy()
    await turns(() => audience.size === 0)
    expect(source.isPaused()).toBe(false)
  })

  test('is not behind with output that is not kept', async () => {
    const viewer = await join()
    const text = viewer.read()
    source.write('seen ')
    await turns(() => text() === 'seen ')
    // Imitates a full disk, which keeps no output.
    const { read } = ring
    ring.read = (offset) => ({ offset: Math.max(offset, ring.totalBytes), bytes: Buffer.alloc(0) })
    for (let count = 0; count < 20; count++) {
      source.write(Buffer.alloc(10_000, 'x'))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect([source.isPaused(), ring.totalBytes]).toEqual([false, 200_005])
    ring.read = read
    source.write('again')
    await turns(() => text() === 'seen again')
  })

  test('whose command has ended gets the rest and the end, also for members that join then', async () => {
    const [stuck, reader] = [await join(), await join()]
    const text = reader.read()
    source.write('last ')
    await turns(() => text() === 'last ')
    audience.ignoreLag()
    source.write('words')
    await turns(() => ring.totalBytes === 10)
    audience.end()
    let isEmpty = false
    void audience.empty().then(() => {
      isEmpty = true
    })
    const late = (await join()).read()
    await turns(() => text() === 'last words(end)' && late() === 'last words(end)')
    expect(isEmpty).toBe(false)
    const told = stuck.read()
    await turns(() => told() === 'last words(end)')
    await turns(() => isEmpty && audience.size === 0)
  })

  test('ignores a member whose connection is closed before it joins', async () => {
    const { far } = await join()
    far.destroy()
    await turns(() => audience.size === 0)
    const [socket] = sockets.slice(-1)
    if (socket === undefined) throw new Error('no connection')
    audience.join({ socket, rest: Buffer.alloc(0), typing: 'one', onAccepted: () => undefined })
    expect(audience.size).toBe(0)
  })
})

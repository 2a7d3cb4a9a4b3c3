import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { encodeShimFrame, encodeShimFrameHeader } from '../../../agent/drivers/exec/shim-frames.ts'
import { shimPaths } from '../../../agent/drivers/exec/shim-protocol.ts'
import type { TerminalSession } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { type OciLab, shimOf, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openShimLab, type ShimLab } from '../../helpers/exec/shim-lab.ts'
import { type Listener, listen } from '../../helpers/network/listener.ts'

const BOX = 'box_viewers'
const REPLAY_BYTES = 256 * 1024

/** Returns the bytes that this process holds after garbage collection. */
function heldHere(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Returns the output of `seq 1 <last>`. */
function numbers(last: number): string {
  return Array.from({ length: last }, (_, index) => `${index + 1}\n`).join('')
}

describe('clients of a session', () => {
  let at: ShimLab
  let lab: OciLab
  const sockets: Socket[] = []

  beforeAll(async () => {
    at = await openShimLab(BOX)
    lab = at.lab
  })

  afterEach(async () => {
    for (const each of sockets.splice(0)) each.destroy()
    await at.endAll()
  })

  afterAll(() => at.close())

  /** Starts a session, and resolves once its terminal is raw. */
  const run = async (shell: string, name = 'main'): Promise<TerminalSession> => {
    const sessionId = newId('ses', Date.now())
    const command = ['/bin/sh', '-c', `stty raw -echo; touch /tmp/${sessionId}; ${shell}`]
    const request = { sessionId, name, command, cwd: '/', user: null, environment: {} }
    const session = await lab.runtime.openSession(BOX, { ...request, terminal: { cols: 80, rows: 24 } })
    await untilTrue(() => at.exists(`/tmp/${sessionId}`))
    return session
  }
  /** Connects to the shim directly, and collects its lines and frames. */
  const speak = async ({ sessionId }: TerminalSession): Promise<{ socket: Socket; seen: Listener }> => {
    const socket = connect(shimPaths(`${lab.home}/run`).socket).on('error', () => undefined)
    sockets.push(socket)
    const seen = listen(socket)
    socket.write(`${JSON.stringify({ type: 'attach', id: 1, execId: sessionId, typing: 'all' })}\n`)
    await seen.until('"attached"')
    return { socket, seen }
  }
  const viewersOf = async (): Promise<number | undefined> => (await lab.runtime.sessions(BOX))[0]?.viewers
  const memory = (): number => {
    const status = readFileSync(`/proc/${shimOf(lab)}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
  }
  const descriptors = (): number => readdirSync(`/proc/${shimOf(lab)}/fd`).length

  test('get the last 256 KiB and all later output, byte for byte', async () => {
    const session = await run('seq 1 200000; touch /tmp/told; read A; echo more')
    await untilTrue(() => at.exists('/tmp/told'))
    const viewer = await at.attach(session)
    // The program ends its output before the shim has read all of it from the terminal.
    await untilTrue(() => viewer.seen.text().endsWith('200000\n'))
    const bytes = viewer.seen.bytes()
    expect(bytes.length).toBeGreaterThanOrEqual(REPLAY_BYTES)
    const whole = Buffer.from(numbers(200_000))
    expect(bytes.equals(whole.subarray(whole.length - bytes.length))).toBe(true)
    viewer.stdin.write('\n')
    await viewer.seen.end
    expect(viewer.seen.text().endsWith('200000\nmore\n')).toBe(true)
  })

  test.each([1, 3])(
    'stop the output while all %i of them are stuck, and let it go on once they read again',
    async (count) => {
      const session = await run('read A; seq 1 400000; touch /tmp/written; echo end')
      const stuck = await Promise.all(Array.from({ length: count }, () => at.attachStuck(session)))
      stuck[0]?.stdin.write('\n')
      await sleep(500)
      expect(at.exists('/tmp/written')).toBe(false)
      const seen = stuck.map(({ stdout }) => listen(stdout))
      await Promise.all(seen.map(({ end }) => end))
      for (const each of seen) expect(each.text()).toMatch(/^1\n2\n3\n[^]*400000\nend\n$/)
      // With several viewers, a slower one can miss output.
      if (count === 1) expect(seen[0]?.text() === `${numbers(400_000)}end\n`).toBe(true)
      rmSync(`${lab.home}/roots/${BOX}/tmp/written`)
    },
  )

  test('do not wait for a stuck one, which misses dropped output', async () => {
    const session = await run('read A; seq 1 3000000; echo end')
    const stuck = await at.attachStuck(session)
    const reader = await at.attach(session)
    reader.stdin.write('\n')
    await reader.seen.end
    expect(reader.seen.bytes().length).toBe(numbers(3_000_000).length + 4)
    expect(reader.seen.text().endsWith('3000000\nend\n')).toBe(true)
    const late = listen(stuck.stdout)
    await late.end
    expect(late.text().startsWith('1\n2\n3\n')).toBe(true)
    expect(late.text().endsWith('3000000\nend\n')).toBe(true)
    expect(late.bytes().length).toBeLessThan(2_000_000)
  })

  test('let the output go on by leaving while it waits for them', async () => {
    const session = await run('read A; seq 1 400000; touch /tmp/left')
    const [first, second] = [await at.attachStuck(session), await at.attachStuck(session)]
    first.stdin.write('\n')
    await sleep(300)
    expect(at.exists('/tmp/left')).toBe(false)
    first.close()
    second.close()
    expect(await session.ended).toMatchObject({ exitCode: 0 })
    expect(at.exists('/tmp/left')).toBe(true)
  })

  test('cost the shim bounded memory and are all served: 200 of them, one stuck', async () => {
    const sessions = await Promise.all(
      Array.from({ length: 4 }, (_, index) => run('read A; seq 1 300000; echo end', `s${index}`)),
    )
    const before = memory()
    const readers = await Promise.all(
      sessions.flatMap((each) => Array.from({ length: 50 }, () => at.attachStuck(each))),
    )
    const [, ...free] = readers
    const ends = free.map(async ({ stdout }) => {
      let [bytes, tail] = [0, Buffer.alloc(0)]
      for await (const chunk of stdout as AsyncIterable<Buffer>) {
        bytes += chunk.length
        tail = Buffer.concat([tail, chunk]).subarray(-11)
      }
      return { bytes, tail: tail.toString() }
    })
    for (const index of [1, 50, 100, 150]) readers[index]?.stdin.write('\n')
    const told = await Promise.all(ends)
    expect(new Set(told.map(({ tail }) => tail))).toEqual(new Set(['300000\nend\n']))
    // A viewer can have missed output while another one was faster.
    const whole = numbers(300_000).length + 4
    for (const { bytes } of told) expect(bytes).toBeLessThanOrEqual(whole)
    expect(Math.max(...told.map(({ bytes }) => bytes))).toBeGreaterThan(whole / 2)
    expect(memory() - before).toBeLessThan(150 * 1024 ** 2)
  })

  test('can leave although their input is not read, which is bounded', async () => {
    const session = await run('sleep 600')
    const { socket, seen } = await speak(session)
    const before = memory()
    const frame = encodeShimFrame({ kind: 'stdin', bytes: Buffer.alloc(60_000, 'x') })
    let sentBytes = 0
    for (let quiet = 0; quiet < 20; quiet++) {
      for (; socket.write(frame); quiet = 0) sentBytes += frame.length
      await sleep(20)
      if (!socket.writableNeedDrain) quiet = 0
    }
    expect(sentBytes).toBeLessThan(2_000_000)
    expect(memory() - before).toBeLessThan(8 * 1024 ** 2)
    expect(await viewersOf()).toBe(1)
    socket.destroy()
    await untilTrue(async () => (await viewersOf()) === 0)
    expect(seen.text()).not.toContain('xxx')
  })

  test('cost nothing by resizes while input is not read; the last one counts then', async () => {
    const told = '(while stty size <&2; do sleep 0.1; done) & exec cat > /dev/null'
    const session = await run(`until [ -e /tmp/read ]; do sleep 0.1; done; ${told}`)
    const viewer = await at.attach(session)
    for (let quiet = 0; quiet < 20; quiet++) {
      for (; viewer.stdin.write(Buffer.alloc(60_000, 'x')); quiet = 0);
      await sleep(20)
      if (!viewer.stdin.writableNeedDrain) quiet = 0
    }
    const before = heldHere()
    for (let count = 0; count < 200_000; count++) {
      viewer.terminal?.resize({ cols: 100 + (count % 100), rows: 40 })
      if (count % 1_000 === 0) await immediate()
    }
    viewer.terminal?.resize({ cols: 321, rows: 45 })
    expect(heldHere() - before).toBeLessThan(4 * 1024 ** 2)
    expect(viewer.seen.text()).toBe('')
    writeFileSync(`${lab.home}/roots/${BOX}/tmp/read`, '')
    await viewer.seen.until('45 321')
    viewer.terminal?.resize({ cols: 123, rows: 46 })
    await viewer.seen.until('46 123')
  })

  test('lose only their own connection by an invalid or truncated message', async () => {
    const session = await run('echo ready; cat')
    const well = await at.attach(session)
    await well.seen.until('ready')
    const open = descriptors()
    const nonsense = [
      Buffer.from('hello, shim\n'),
      Buffer.from('0500000000', 'hex'),
      Buffer.from('00ffffffff', 'hex'),
      encodeShimFrame({ kind: 'stdout', bytes: Buffer.from('I am the command') }),
    ]
    for (const each of nonsense) {
      const { socket } = await speak(session)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.write(each)
      await closed
    }
    const { socket } = await speak(session)
    socket.end(Buffer.concat([encodeShimFrameHeader('stdin', 100), Buffer.from('half a')]))
    await untilTrue(async () => (await viewersOf()) === 1 && descriptors() === open)
    well.stdin.write('still here')
    await well.seen.until('still here')
    expect(well.seen.text()).toBe('readystill here'.replace('ready', 'ready\n'))
  })

  test('have input sent right after the attach request delivered', async () => {
    const session = await run('echo ready; cat')
    const socket = connect(shimPaths(`${lab.home}/run`).socket)
    sockets.push(socket)
    const seen = listen(socket)
    const request = `${JSON.stringify({ type: 'attach', id: 1, execId: session.sessionId, typing: 'all' })}\n`
    socket.write(Buffer.concat([Buffer.from(request), encodeShimFrame({ kind: 'stdin', bytes: Buffer.from('early') })]))
    await seen.until('early')
  })

  test('get all output if they attach as it ends', async () => {
    for (let count = 0; count < 20; count++) {
      const session = await run('echo last words')
      await sleep(count * 3)
      const viewer = await at.attach(session)
      await viewer.seen.end
      expect(viewer.seen.text()).toBe('last words\n')
      await session.ended
    }
  })
})

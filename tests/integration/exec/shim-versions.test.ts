import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { encodeShimFrame } from '../../../agent/drivers/exec/shim-frames.ts'
import { createShims, type Shims } from '../../../agent/drivers/exec/shims.ts'
import { readJsonLines, writeJsonLine } from '../../../agent/lib/output/json-lines.ts'
import { OutputRing } from '../../../agent/lib/output/ring.ts'
import { attachTo } from '../../helpers/attached.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const BOX = 'box_held'
const KEPT_BYTES = 8 * 1024 ** 2
const END = { exitCode: 3, signal: null, outOfMemory: false, timedOut: false, endedAt: 9 }

describe.each([1, 999])('a shim of version %i', (version) => {
  let directory: string
  let server: Server
  let agent: Socket
  let shims: Shims
  let agents: number
  const asked: Record<string, unknown>[] = []

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-holder-'))
    asked.length = 0
    agents = 0
    server = createServer((socket) => {
      agent = socket.on('error', () => undefined)
      agents += 1
      writeJsonLine(socket, { type: 'held', commands: [{ boxId: BOX, execId: 'exe_old', process: 7 }], more: 1 })
      readJsonLines(socket, 1000, (value) => {
        const request = value as { id: number; type: string }
        asked.push(request)
        if (request.type === 'leave') socket.end()
        else if (request.type === 'attach') serveViewer(socket, request.id)
        else writeJsonLine(socket, { type: 'done', id: request.id, process: null })
      })
    })
    await new Promise<void>((resolve) => server.listen(join(directory, `holder-${version}.sock`), resolve))
    const execFiles = { directory: join(directory, 'execs'), keptBytes: KEPT_BYTES }
    shims = createShims({
      shim: { instanceId: 'other', runDir: directory, crunPath: '/usr/bin/crun', execFiles },
      logger: silentLogger,
      endLost: async () => undefined,
    })
    await shims.open()
  })

  afterEach(async () => {
    await shims.close(() => false)
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })

  test('takes signals and reports ends, and its unknown messages are ignored', async () => {
    const [old] = shims.execs.list()
    expect(old).toMatchObject({ boxId: BOX, execId: 'exe_old', process: 7 })
    await old?.signal('SIGTERM')
    expect(asked).toMatchObject([{ type: 'signal', execId: 'exe_old', signal: 'SIGTERM' }])
    const output = new Promise<void>((resolve) => old?.onOutput(resolve))
    writeJsonLine(agent, { type: 'weather', is: 'fine' })
    writeJsonLine(agent, { type: 'output', execIds: ['exe_old'] })
    await output
    writeJsonLine(agent, { type: 'ended', execId: 'exe_old', end: END })
    expect(await old?.ended).toEqual(END)
  })

  test('that exits without a message leaves its commands lost', async () => {
    server.close()
    agent.destroy()
    expect(await shims.execs.list()[0]?.ended).toBeNull()
  })

  test('that sends an invalid message is asked for its commands again', async () => {
    agent.write('nonsense\n')
    await untilTrue(() => agents === 2)
    await untilTrue(async () => {
      await shims.execs.list()[0]?.signal('SIGTERM')
      return asked.length > 0
    })
    expect(asked).toMatchObject([{ type: 'signal', execId: 'exe_old' }])
  })

  test('takes attach requests if it is new enough, and gets none if it is not', async () => {
    const [old] = shims.execs.list()
    if (old === undefined) throw new Error('it holds nothing')
    if (version === 1) {
      await expect(old.attach('all')).rejects.toMatchObject({ code: 'runtime_unavailable' })
      expect([agents, asked]).toEqual([1, []])
    } else {
      const viewer = await attachTo(old)
      await Promise.all([viewer.seen.end, viewer.errors.end])
      expect([viewer.seen.text(), viewer.errors.text()]).toEqual(['hello', ''])
    }
    expect(await shims.sessions.facts(BOX)).toEqual([])
  })

  test('reports the kept output of ended commands', async () => {
    const [old] = shims.execs.list()
    if (old === undefined) throw new Error('it holds nothing')
    mkdirSync(join(directory, 'execs', BOX), { recursive: true })
    const ring = new OutputRing({
      path: join(directory, 'execs', BOX, 'exe_old.stdout'),
      capacity: KEPT_BYTES,
      memoryBytes: 0,
    })
    ring.push(Buffer.from('kept'))
    ring.close()
    writeJsonLine(agent, { type: 'ended', execId: 'exe_old', end: END })
    await old.ended
    server.close()
    agent.destroy()
    const viewer = await attachTo(old)
    await Promise.all([viewer.seen.end, viewer.errors.end])
    expect([viewer.seen.text(), viewer.errors.text()]).toEqual(['kept', ''])
  })
})

// Adds lines for every agent, and fields of no known version, between the frames.
function serveViewer(socket: Socket, id: number): void {
  writeJsonLine(socket, { type: 'output', execIds: ['exe_old'] })
  writeJsonLine(socket, { type: 'attached', id, terminal: false, colour: 'green' })
  for (const kind of ['stdout', 'stderr'] as const) {
    if (kind === 'stdout') socket.write(encodeShimFrame({ kind, bytes: Buffer.from('hello') }))
    socket.write(encodeShimFrame({ kind: 'idle' }))
    socket.write(encodeShimFrame({ kind, bytes: Buffer.alloc(0) }))
  }
  socket.end()
}

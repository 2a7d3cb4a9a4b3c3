import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCli } from '../../infra/cli-bundle.ts'
import { type BoxHandle, createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { BENCH_SETTINGS, boxPath, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, rateEach, ratesText, report, summary, timeEach } from './figures.ts'

/**
 * Measures connections to a port of a box, by the SDK and through `boxyard port-forward`. Reports the time until one is open, and one
 * stream in each direction. Starts its own service.
 */
export async function benchPorts(): Promise<void> {
  const service = await startService({ settings: BENCH_SETTINGS })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const box = createBoxyard({ url: service.url, token: service.adminToken }).box('bench', NAME)
  try {
    await createBox(client, NAME)
    for (const [port, script] of Object.entries(SERVERS)) {
      const write = `printf '#!/bin/sh\\n%s\\n' '${script}' >/root/${port}; chmod +x /root/${port}`
      await shellIn(client, NAME, write)
      const command = ['/bin/sh', '-c', `exec nc -ll -p ${port} -e /root/${port}`]
      await client.put(`${boxPath(NAME)}/services/at-${port}`, { command })
      await eventually(() => canOpen(box, Number(port)))
    }
    const opened = await timeEach(CONNECTIONS, async () => (await box.connect(ECHO)).close())
    report('connection to a port → open', summary(opened), '≤ 15 ms', percentile(opened, 0.5) <= 15)
    const stream = async (way: string, pass: () => Promise<void>): Promise<void> => {
      const rates = await rateEach(ROUNDS, BYTES, pass)
      report(`one stream of a port, ${way}`, ratesText(rates), '≥ 200 MB/s', percentile(rates, 0.5) >= LEAST_RATE)
    }
    await stream('from the box', () => download(box))
    await stream('to the box', () => upload(box))
    await withForward(service, async ([source = 0, sink = 0]) => {
      await stream('forwarded from', () => downloadForwarded(source))
      await stream('forwarded to', () => uploadForwarded(sink))
    })
    await deleteBox(client, NAME)
  } finally {
    await service.close()
  }
}

async function canOpen(box: BoxHandle, port: number): Promise<boolean> {
  return box.connect(port).then(
    (stream) => {
      stream.close()
      return true
    },
    () => false,
  )
}

async function download(box: BoxHandle): Promise<void> {
  const { readable, writable } = await box.connect(SOURCE)
  let received = 0
  for await (const bytes of readable) received += bytes.length
  await writable.close()
  if (received !== BYTES) throw new Error(`${received} bytes came instead of ${BYTES}`)
}

async function upload(box: BoxHandle): Promise<void> {
  const { readable, writable } = await box.connect(SINK)
  const writer = writable.getWriter()
  for (let sent = 0; sent < BYTES; sent += PIECE.length) await writer.write(PIECE)
  await writer.close()
  checkCount(await new Response(readable).text())
}

/** Runs `boxyard port-forward` with the source and the sink at free local ports during `work`. */
async function withForward(
  { url, adminToken }: TestService,
  work: (ports: readonly number[]) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'boxyard-bench-ports-'))
  const program = await buildCli(home)
  const env = { PATH: process.env['PATH'], HOME: home, BOXYARD_URL: url, BOXYARD_TOKEN: adminToken }
  const args = [program, 'port-forward', '-p', 'bench', NAME, `0:${SOURCE}`, `0:${SINK}`]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let told = ''
    child.stdout.on('data', (piece: Buffer) => (told += piece.toString('utf8')))
    const ports = (): number[] =>
      [...told.matchAll(/^Forwarding 127\.0\.0\.1:(\d+) to/gm)].map(([, port]) => Number(port))
    await eventually(() => ports().length === 2)
    await work(ports())
  } finally {
    child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  }
}

async function downloadForwarded(port: number): Promise<void> {
  let received = 0
  const buffer = Buffer.alloc(READ_BYTES)
  // Reads everything into one buffer, because this client is not the subject of the measurement.
  const callback = (size: number): boolean => (received += size) >= 0
  const socket = connect({ host: '127.0.0.1', port, onread: { buffer, callback } })
  await once(socket, 'close')
  if (received !== BYTES) throw new Error(`${received} bytes came instead of ${BYTES}`)
}

async function uploadForwarded(port: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  let answer = ''
  socket.on('data', (piece: Buffer) => (answer += piece.toString('utf8')))
  for (let sent = 0; sent < BYTES; sent += PIECE.length) if (!socket.write(PIECE)) await once(socket, 'drain')
  socket.end()
  await once(socket, 'end')
  checkCount(answer)
}

function checkCount(answer: string): void {
  if (Number(answer) !== BYTES) throw new Error(`${answer.trim()} bytes came instead of ${BYTES}`)
}

const NAME = 'ports'
const CONNECTIONS = 100
const ROUNDS = 5
const LEAST_RATE = 200
const BYTES = 512 * 1024 ** 2
const READ_BYTES = 256 * 1024
const PIECE = Buffer.alloc(64 * 1024)
const [ECHO, SOURCE, SINK] = [7001, 7002, 7003]
/** Commands that run for each client of a port, with the connection as input and output. */
const SERVERS = {
  [ECHO]: 'exec cat',
  [SOURCE]: `exec head -c ${BYTES} /dev/zero`,
  [SINK]: 'exec wc -c',
}

import { WebSocket } from 'ws'
import { PORT_END, PORT_MESSAGE_BYTES } from '../../shared/http/port-frames.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { BENCH_SETTINGS, boxPath, createBox, deleteBox, shellIn } from './context.ts'
import { percentile, rateEach, ratesText, report, summary, timeEach } from './figures.ts'

/** Measures a connection to a port of a box: the time until it is open, and one stream each way. Starts a service of its own. */
export async function benchPorts(): Promise<void> {
  const service = await startService({ settings: BENCH_SETTINGS })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  try {
    await createBox(client, NAME)
    for (const [port, script] of Object.entries(SERVERS)) {
      const write = `printf '#!/bin/sh\\n%s\\n' '${script}' >/root/${port}; chmod +x /root/${port}`
      await shellIn(client, NAME, write)
      const command = ['/bin/sh', '-c', `exec nc -ll -p ${port} -e /root/${port}`]
      await client.put(`${boxPath(NAME)}/services/at-${port}`, { command })
      await eventually(() => canOpen(service, Number(port)))
    }
    const opened = await timeEach(CONNECTIONS, async () => void (await open(service, ECHO)).terminate())
    report('connection to a port → open', summary(opened), '≤ 15 ms', percentile(opened, 0.5) <= 15)
    const down = await rateEach(ROUNDS, BYTES, () => download(service))
    report('one stream of a port, from the box', ratesText(down), '≥ 200 MB/s', percentile(down, 0.5) >= LEAST_RATE)
    const up = await rateEach(ROUNDS, BYTES, () => upload(service))
    report('one stream of a port, to the box', ratesText(up), '≥ 200 MB/s', percentile(up, 0.5) >= LEAST_RATE)
    await deleteBox(client, NAME)
  } finally {
    await service.close()
  }
}

/** Opens a port; `onMessage` gets what comes with the answer, too. */
function open(
  { url, adminToken }: TestService,
  port: number,
  onMessage: (data: Buffer, isBinary: boolean) => void = () => undefined,
): Promise<WebSocket> {
  const target = `${url.replace(/^http/, 'ws')}${boxPath(NAME)}/ports/${port}/ws`
  const headers = { authorization: `Bearer ${adminToken}` }
  const socket = new WebSocket(target, { headers, perMessageDeflate: false })
  socket.on('message', onMessage)
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket))
    socket.on('error', reject)
  })
}

async function canOpen(service: TestService, port: number): Promise<boolean> {
  return open(service, port).then(
    (socket) => {
      socket.terminate()
      return true
    },
    () => false,
  )
}

async function download(service: TestService): Promise<void> {
  let received = 0
  const socket = await open(service, SOURCE, (data, isBinary) => {
    if (isBinary) received += data.length
    else socket.send(PORT_END)
  })
  const ended = new Promise<number>((resolve) => socket.once('close', resolve))
  const code = await ended
  if (received !== BYTES) throw new Error(`${received} bytes came instead of ${BYTES}, and it closed with ${code}`)
}

async function upload(service: TestService): Promise<void> {
  let answer = ''
  const socket = await open(service, SINK, (data, isBinary) => {
    if (isBinary) answer += data.toString()
  })
  const ended = new Promise<number>((resolve) => socket.once('close', resolve))
  const piece = Buffer.alloc(PORT_MESSAGE_BYTES)
  for (let sent = 0; sent < BYTES; sent += PORT_MESSAGE_BYTES) {
    await new Promise<void>((resolve) => socket.send(piece, () => resolve()))
  }
  socket.send(PORT_END)
  const code = await ended
  if (Number(answer) !== BYTES)
    throw new Error(`${answer.trim()} bytes came instead of ${BYTES}, and it closed with ${code}`)
}

const NAME = 'ports'
const CONNECTIONS = 100
const ROUNDS = 5
const LEAST_RATE = 200
const BYTES = 512 * 1024 ** 2
const [ECHO, SOURCE, SINK] = [7001, 7002, 7003]
/** What runs for each client of a port, with the connection as input and output. */
const SERVERS = {
  [ECHO]: 'exec cat',
  [SOURCE]: `exec head -c ${BYTES} /dev/zero`,
  [SINK]: 'exec wc -c',
}

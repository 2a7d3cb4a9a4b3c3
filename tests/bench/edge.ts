import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { TOKEN_PREFIX } from '../../shared/auth/tokens.ts'
import { createEdgeLab, type EdgeLab, grantOf } from '../helpers/edge/lab.ts'
import { freePort } from '../helpers/service.ts'
import { percentile, report, timeEach, timeOnce } from './figures.ts'

/** Compares the edge with bare HAProxy in front of the same static upstream, and times changes of names. */
export async function benchEdge(): Promise<void> {
  const lab = createEdgeLab()
  const ends: (() => void)[] = []
  try {
    const upstream = await startHaproxy(lab.runDir, 'upstream', ANSWERING)
    ends.push(upstream.end)
    const alone = await startHaproxy(lab.runDir, 'alone', leadingTo(upstream.port))
    ends.push(alone.end)
    const box = { address: '127.0.0.1', port: upstream.port }
    const routes = [lab.route(PRIVATE, box, { auth: 'token' }), lab.route(PUBLIC, box)]
    await lab.open({ routes, grants: [grantOf(TOKEN, 'demo')] })
    await compareRates(lab, alone.port)
    await compareTimes(lab, alone.port)
    await benchNames(lab)
  } finally {
    for (const end of ends) end()
    await lab.close()
  }
}

/**
 * Measures in pairs, in alternating order, and compares within each pair. The machine's background load changes over time, and so affects
 * both sides of a pair.
 */
async function compareRates(lab: EdgeLab, alonePort: number): Promise<void> {
  for (const [kind, host] of Object.entries({ private: PRIVATE, public: PUBLIC })) {
    const pairs: Pair[] = []
    for (let round = 0; round < PAIRS; round++) {
      const pair: Pair = { alone: 0, ours: 0 }
      const turns = [['alone', alonePort] as const, ['ours', lab.edge.port] as const]
      for (const [peer, port] of round % 2 === 0 ? turns : turns.reverse()) pair[peer] = await countAnswers(port, host)
      pairs.push(pair)
    }
    const rates = pairs.map(({ alone, ours }) => ours / alone)
    const [rate, least, most] = [percentile(rates, 0.5), Math.min(...rates), Math.max(...rates)]
    const [ours, alone] = [perSecond(pairs.map((pair) => pair.ours)), perSecond(pairs.map((pair) => pair.alone))]
    const measured = `${ours} of ${alone} requests/s: ${rate.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
    report(`edge: rate against HAProxy alone, ${kind}`, measured, '0.9', rate >= 0.9)
  }
}

/** Results of one round, as a number of responses or as milliseconds. */
interface Pair {
  alone: number
  ours: number
}

async function compareTimes(lab: EdgeLab, alonePort: number): Promise<void> {
  const [one, other] = [await openClient(alonePort, PRIVATE), await openClient(lab.edge.port, PRIVATE)]
  const differences: number[] = []
  for (let index = 0; index < SEQUENTIAL; index++) {
    const pair: Pair = { alone: 0, ours: 0 }
    const turns = [['alone', one] as const, ['ours', other] as const]
    for (const [peer, client] of index % 2 === 0 ? turns : turns.reverse()) pair[peer] = await timeOnce(client.ask)
    differences.push(pair.ours - pair.alone)
  }
  one.end()
  other.end()
  const added = percentile(differences, 0.5)
  report('edge: added to a request', `p50 ${added.toFixed(3)} ms`, '0.2 ms', added <= 0.2)
}

async function benchNames(lab: EdgeLab): Promise<void> {
  const box = await lab.startUpstream()
  await lab.edge.change({ set: [lab.route('sockets.localhost', box)] })
  const sockets = Array.from({ length: 100 }, () => {
    const headers = { host: 'sockets.localhost' }
    return new WebSocket(`ws://127.0.0.1:${lab.edge.port}/`, { headers })
  })
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('open', resolve))))
  const name = (index: number): string => `name-${index}.example.org`
  const publish = await timeEach(1_000, (index) => lab.edge.change({ set: [lab.route(name(index), box)] }))
  const unpublish = await timeEach(1_000, (index) => lab.edge.change({ remove: [name(index)] }))
  const lost = sockets.filter(({ readyState }) => readyState !== WebSocket.OPEN).length
  for (const socket of sockets) socket.terminate()
  report('edge: 1,000 names, WebSockets dropped', `${lost} of ${sockets.length}`, '0', lost === 0)
  const p95 = percentile([...publish, ...unpublish], 0.95)
  report('edge: a name comes or goes', `p95 ${p95.toFixed(1)} ms`, '60 ms', p95 <= 60)
}

/** Starts a bare HAProxy with these lines in its frontend, on its own port. */
async function startHaproxy(directory: string, name: string, lines: string): Promise<{ port: number; end(): void }> {
  const port = await freePort()
  const config = join(directory, `${name}.cfg`)
  const pidFile = join(directory, `${name}.pid`)
  writeFileSync(
    config,
    `global
  maxconn 4000
defaults
  mode http
  timeout connect 3s
  timeout client 1h
  timeout server 1h
frontend ${name}
  bind 127.0.0.1:${port}
${lines}
`,
  )
  const { status, stderr } = spawnSync('haproxy', ['-D', '-p', pidFile, '-f', config], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return { port, end: () => void process.kill(Number(readFileSync(pidFile, 'utf8')), 'SIGKILL') }
}

function leadingTo(port: number): string {
  return `  default_backend server
backend server
  server one 127.0.0.1:${port}`
}

/** Counts the responses within `ROUND_MS`, over enough connections to keep all processes busy. */
async function countAnswers(port: number, host: string): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => openClient(port, host)))
  const end = performance.now() + ROUND_MS
  let count = 0
  await Promise.all(
    clients.map(async ({ ask }) => {
      for (; performance.now() < end; count++) await ask()
    }),
  )
  for (const client of clients) client.end()
  return count
}

/** Opens a minimal client, which expects every response to be as long as the first. */
async function openClient(port: number, host: string): Promise<{ ask(): Promise<void>; end(): void }> {
  const socket = connect(port, '127.0.0.1').setNoDelay()
  const request = `GET / HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${TOKEN}\r\n\r\n`
  let received = 0
  let length = 0
  let answered: () => void = () => undefined
  socket.on('data', (piece: Buffer) => {
    received += piece.length
    if (length === 0 && !piece.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(piece.toString('latin1'))
    if (received >= (length || 1)) answered()
  })
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      received = 0
      answered = resolve
      socket.write(request)
    })
  await ask()
  length = received
  return { ask, end: () => socket.destroy() }
}

function perSecond(counts: readonly number[]): number {
  return Math.round((percentile(counts, 0.5) / ROUND_MS) * 1000)
}

const PRIVATE = 'bench--demo.localhost'
const PUBLIC = 'open--demo.localhost'
const ANSWERING = `  http-request return status 200 content-type text/plain string "${'x'.repeat(128)}"`
const TOKEN = `${TOKEN_PREFIX}jEyMzQ1Njc4IiwidHlwIjoiSldUIn0.${'payload'.repeat(30)}.signature`
const PAIRS = 7
const ROUND_MS = 1_500
const CONNECTIONS = 32
const SEQUENTIAL = 4_000

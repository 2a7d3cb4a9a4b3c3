import { connect, type Socket } from 'node:net'
import { startSteadyLoad } from '../helpers/edge/steady-load.ts'
import { askUrl } from '../helpers/edge/url-client.ts'
import { type BenchContext, boxPath, changePower, createBox, deleteBox } from './context.ts'
import { percentile, report, summary, timeEach, timeOnce } from './figures.ts'

/** Benchmarks URLs of boxes, with publishing, waking, switching versions under load, and restarting the agent under load. */
export async function benchUrls(context: BenchContext): Promise<void> {
  const { client } = context
  await createBox(client, 'web')
  await client.post(`${boxPath('web')}/publish`, { auth: 'public' })
  await client.put(`${boxPath('web')}/services/page`, pageOf('first'))
  await startTunnels(client)
  await measurePublishing(context)
  await measureSwitches(context)
  await measureRestart(context)
  await measureWake(context)
  await deleteBox(client, 'web')
}

async function measurePublishing({ client }: BenchContext): Promise<void> {
  const { port } = new URL(await boxUrl(client))
  const times = await timeEach(ROUNDS, async (index) => {
    const host = `name-${index}.example.org`
    await client.post(`${boxPath('web')}/publish`, { domains: [host] })
    while ((await askUrl(`http://${host}:${port}/`)).status !== 200);
  })
  report('publish → reachable', summary(times), '≤ 60 ms', percentile(times, 0.5) <= 60)
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openTunnel(client)))
  let dropped = 0
  for (const socket of sockets) socket.once('close', () => (dropped += 1))
  const all = Array.from({ length: 500 }, (_, index) => `other-${index}.example.org`)
  for (const domain of all) await client.post(`${boxPath('web')}/publish`, { domains: [domain] })
  for (const domain of all) await client.post(`${boxPath('web')}/unpublish`, { domains: [domain] })
  report('open WebSockets dropped by 1,000 changes', String(dropped), '0', dropped === 0)
  for (const socket of sockets) socket.destroy()
}

async function measureSwitches({ client }: BenchContext): Promise<void> {
  const service = `${boxPath('web')}/services/page`
  const load = startSteadyLoad(await boxUrl(client, 'active_url', service), { perSecond: 500 })
  const sockets = await Promise.all(Array.from({ length: 20 }, () => openTunnel(client)))
  const url = await boxUrl(client, 'active_url', service)
  const times: number[] = []
  for (let index = 0; index < 25; index++) {
    const deployed = await client.post(`${service}/deploy`, { command: commandOf(`v${index}`) })
    if (deployed.body.preview?.state !== 'running') throw new Error(`deploy: ${deployed.text}`)
    times.push(
      await timeOnce(async () => {
        await client.post(`${service}/promote`)
        while ((await askUrl(url)).text !== `v${index}\n`);
      }),
    )
    const { status, text } = await client.post(`${service}/rollback`)
    if (status !== 200) throw new Error(`rollback: ${text}`)
  }
  const { sent, failures } = await load.stop()
  for (const socket of sockets) socket.destroy()
  const measured = `${failures.length} of ${sent} ${failures[0] ?? ''}`
  report('failed requests in 50 switches at 500/s', measured, '0', failures.length === 0)
  report('promote → first answer of the new version', summary(times), '≤ 50 ms', percentile(times, 0.5) <= 50)
}

async function measureRestart({ client, service }: BenchContext): Promise<void> {
  const load = startSteadyLoad(await boxUrl(client), { perSecond: 500 })
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await service.killAgent(signal)
    await service.startAgent()
  }
  const { sent, failures } = await load.stop()
  const measured = `${failures.length} of ${sent} ${failures[0] ?? ''}`
  report('failed requests in two agent restarts at 500/s', measured, '0', failures.length === 0)
}

async function measureWake({ client }: BenchContext): Promise<void> {
  await client.put(boxPath('web'), { url_settings: { wake: true } })
  const url = await boxUrl(client)
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await changePower(client, 'web', 'stop')
    times.push(
      await timeOnce(async () => {
        const { status, text } = await askUrl(url)
        if (status !== 200) throw new Error(`wake: ${status} ${text}`)
      }),
    )
  }
  report('wake of a stopped box by a request', summary(times), '≤ 80 ms', percentile(times, 0.5) <= 80)
}

async function boxUrl(client: BenchContext['client'], field = 'url', path = boxPath('web')): Promise<string> {
  return (await client.get(path)).body[field]
}

/** Starts a service that answers WebSocket upgrades. */
async function startTunnels(client: BenchContext['client']): Promise<void> {
  const answer = ['HTTP/1.1 101 Switching Protocols', 'connection: upgrade', 'upgrade: websocket', ACCEPT, '', '']
  const script = `#!/bin/sh\nprintf '${answer.join('\\r\\n')}'\nexec cat\n`
  const line =
    'mkdir -p /srv; printf %s "$SCRIPT" > /srv/tunnel; chmod +x /srv/tunnel; exec nc -ll -p $PORT -e /srv/tunnel'
  const command = ['/bin/sh', '-c', line]
  await client.put(TUNNEL, { command, env: { SCRIPT: script }, port: 7000, readiness: { tcp: true } })
}

/** Opens an upgraded, idle connection. */
async function openTunnel(client: BenchContext['client']): Promise<Socket> {
  const { host, port } = new URL(await boxUrl(client, 'active_url', TUNNEL))
  const socket = connect(Number(port), '127.0.0.1')
  const head = ['GET / HTTP/1.1', `host: ${host}`, 'connection: upgrade', 'upgrade: websocket', ...HANDSHAKE, '', '']
  socket.write(head.join('\r\n'))
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('data', (data) => {
      if (data.toString().startsWith('HTTP/1.1 101')) resolve()
      else reject(new Error(`no tunnel: ${data.toString()}`))
    })
  })
  return socket
}

function pageOf(text: string): object {
  return { command: commandOf(text), port: 8080, readiness: { tcp: true, interval_seconds: 0.1 } }
}

function commandOf(text: string): string[] {
  const line = `mkdir -p /srv/$PORT; echo ${text} > /srv/$PORT/index.html; exec httpd -f -p $PORT -h /srv/$PORT`
  return ['/bin/sh', '-c', line]
}

const ROUNDS = 30
const TUNNEL = `${boxPath('web')}/services/tunnel`
/** The example of RFC 6455 §1.3, with a key and its accept value. */
const HANDSHAKE = ['sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==']
const ACCEPT = 'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type AcmeLab, createAcmeLab } from '../helpers/edge/acme-lab.ts'
import { createEdgeLab, type Upstream } from '../helpers/edge/lab.ts'
import { pidsWith } from '../helpers/edge/processes.ts'
import { askTls, openTls } from '../helpers/edge/tls-client.ts'
import { eventually } from '../helpers/eventually.ts'

const HOST = 'shop.example.org'
/** Less than the 10 s that Caddy waits for a decision. */
const CADDY_WAITS_MS = 8_000

let acme: AcmeLab
let shop: Upstream

beforeAll(async () => {
  acme = await createAcmeLab()
  shop = await acme.lab.startUpstream()
  acme.lab.certified.add(HOST)
  await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
})
afterAll(() => acme.close())

const statusOf = async (name: string): Promise<number> => (await askTls(acme.place, name)).status
const isAnswering = (socketPath: string): Promise<boolean> =>
  new Promise((resolve) => {
    const outgoing = request({ socketPath, agent: false }, (answer) => {
      answer.resume().once('end', () => resolve(true))
    })
    outgoing.once('error', () => resolve(false)).end()
  })
const frontFile = (name: string): string => join(acme.lab.runDir, 'edge-front', name)

test('the first request for a name gets it a certificate, and later ones are served with that', async () => {
  expect(await acme.lab.edge.problems()).toEqual([])
  expect([await statusOf(HOST), await statusOf(HOST)]).toEqual([200, 200])
  expect([acme.ca.orders(), acme.lab.wanted]).toEqual([1, [HOST]])
  const socket = await openTls(acme.place, HOST)
  expect(socket.getPeerCertificate().subjectaltname).toBe(`DNS:${HOST}`)
  socket.destroy()
})

test('concurrent first requests get one certificate', async () => {
  acme.lab.certified.add('busy.example.org')
  await acme.lab.edge.change({ set: [acme.lab.route('busy.example.org', shop)] })
  const before = acme.ca.orders()
  const statuses = await Promise.all(Array.from({ length: 12 }, () => statusOf('busy.example.org')))
  expect(statuses).toEqual(statuses.map(() => 200))
  expect(acme.ca.orders()).toBe(before + 1)
})

test('an unknown name gets none, and the CA is not contacted', async () => {
  const before = acme.ca.orders()
  for (const name of ['nobody.example.org', 'sub.shop.example.org', 'localhost']) {
    await expect(statusOf(name)).rejects.toThrow(/alert/)
  }
  expect(acme.lab.wanted).toContain('nobody.example.org')
  expect(acme.ca.orders()).toBe(before)
  expect(acme.ca.output()).not.toContain('nobody')
})

test('a name that was given up gets no new one', async () => {
  acme.lab.certified.add('given-up.example.org')
  acme.lab.certified.delete('given-up.example.org')
  const before = acme.ca.orders()
  await expect(statusOf('given-up.example.org')).rejects.toThrow(/alert/)
  expect(acme.ca.orders()).toBe(before)
})

test('Caddy is started again when it is killed, with the certificates it had', async () => {
  const before = acme.ca.orders()
  const [pid = 0] = acme.caddyPids()
  process.kill(pid, 'SIGKILL')
  await eventually(async () => (await statusOf(HOST).catch(() => 0)) === 200)
  expect(acme.caddyPids()).not.toContain(pid)
  expect(acme.ca.orders()).toBe(before)
})

test('the next driver adopts it, without a request to the CA', async () => {
  const before = acme.ca.orders()
  const pids = acme.caddyPids()
  await acme.lab.leave()
  expect(await statusOf(HOST)).toBe(200)
  await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
  expect(acme.caddyPids()).toEqual(pids)
  expect([await statusOf(HOST), acme.ca.orders()]).toEqual([200, before])
  expect(acme.lab.edge.port).toBe(acme.place.port)
})

test('while HAProxy is started again requests wait for it', async () => {
  const [pid = 0] = acme.haproxyPids()
  process.kill(pid, 'SIGKILL')
  expect(await statusOf(HOST)).toBe(200)
  expect(acme.haproxyPids()).not.toContain(pid)
})

test('processes of a driver killed in the middle of a start are ended or adopted', async () => {
  const first = acme.caddyPids()
  await acme.lab.leave()
  const [latest = 0] = readdirSync(frontFile('.')).flatMap((name) =>
    name.endsWith('.json') ? [parseInt(name, 10)] : [],
  )
  const [next, later] = [latest + 1, latest + 2].map((generation) => frontFile(`${generation}.json`))
  // Starts two more Caddies. One already listens, the other does not yet.
  const text = readFileSync(frontFile(`${latest}.json`), 'utf8').replaceAll(`/${latest}.sock`, `/${latest + 1}.sock`)
  writeFileSync(next ?? '', text)
  const begin = (command: string, ...args: string[]): void =>
    spawn('sh', ['-c', command, 'sh', ...args], { stdio: 'ignore', detached: true, cwd: acme.dataDir }).unref()
  begin(
    'cd acme; exec setpriv --reuid caddy --regid caddy --clear-groups env PID=$$ caddy run --config "$1"',
    next ?? '',
  )
  begin('sleep 60 & wait', later ?? '')
  await eventually(() => isAnswering(frontFile(`own/${latest + 1}.sock`)))
  await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
  await eventually(() => acme.caddyPids().length === 1)
  expect(acme.caddyPids().filter((pid) => first.includes(pid))).toEqual([])
  // A killed process stays until it has run once more.
  await eventually(() => pidsWith((args) => args.includes(later ?? '')).length === 0)
  expect(await statusOf(HOST)).toBe(200)
  // Another start must also work as Caddy's own user.
  for (const pid of acme.caddyPids()) process.kill(pid, 'SIGKILL')
  await eventually(async () => (await statusOf(HOST).catch(() => 0)) === 200)
})

test('without the agent existing certificates are served, and a new name waits for its decision', async () => {
  acme.lab.certified.add('patient.example.org')
  await acme.lab.leave()
  const since = performance.now()
  const waiting = statusOf('patient.example.org')
  waiting.catch(() => undefined)
  expect(await statusOf(HOST)).toBe(200)
  await acme.lab.open({ routes: [HOST, 'patient.example.org'].map((name) => acme.lab.route(name, shop)) })
  // On a very busy machine, Caddy has given up by now, so the client asks again.
  const isLate = performance.now() - since > CADDY_WAITS_MS
  expect(await (isLate ? statusOf('patient.example.org') : waiting)).toBe(200)
})

test('it runs as a user of its own, with one capability, and only that user reads its files', () => {
  const [pid = 0] = acme.caddyPids()
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  for (const line of [/^Uid:\t([1-9]\d*)\t\1\t\1\t\1$/m, /^CapEff:\t0{13}400$/m, /^CapBnd:\t0{13}400$/m]) {
    expect(status).toMatch(line)
  }
  expect(status).toMatch(/^NoNewPrivs:\t1$/m)
  const { mode, uid } = statSync(join(acme.dataDir, 'acme'))
  expect([(mode & 0o7777).toString(8), uid > 0]).toEqual(['700', true])
  expect(statSync(acme.dataDir).mode & 0o777).toBe(0o700)
  const front = statSync(frontFile('.'))
  expect([front.uid, (front.mode & 0o7777).toString(8)]).toEqual([0, '2750'])
  expect((statSync(frontFile('edge.sock')).mode & 0o777).toString(8)).toBe('600')
})

test('only a caller with the secret path learns which names exist', async () => {
  const [port, path] = ['ask-port', 'ask-path'].map((name) => readFileSync(frontFile(name), 'utf8'))
  const ask = (tried: string, domain: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const target = `${tried}?domain=${domain}`
      const outgoing = request({ host: '127.66.79.88', port: Number(port), path: target, agent: false }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      outgoing.once('error', reject)
      outgoing.end()
    })
  expect([await ask(path ?? '', HOST), await ask(path ?? '', 'nobody.example.org')]).toEqual([200, 403])
  const digest = createHash('sha256').update(String(path)).digest('hex')
  const asked = acme.lab.wanted.length
  for (const tried of ['/', '/x', `${path}x`, `${path}/`, `/.${path}`, `/${digest}`]) {
    expect([tried, await ask(tried, HOST)]).toEqual([tried, 404])
  }
  expect(acme.lab.wanted).toHaveLength(asked)
  expect((await askTls(acme.place, HOST, { path: `${path}?domain=${HOST}` })).status).toBe(200)
  expect(shop.seen.at(-1)?.target).toBe(`${path}?domain=${HOST}`)
})

test('its logs have the outcome for certificates, and not the secret path', () => {
  const path = readFileSync(frontFile('ask-path'), 'utf8')
  const log = readFileSync(join(acme.dataDir, 'acme/caddy.log'), 'utf8')
  expect(log).toContain('certificate obtained successfully')
  const others = readdirSync(frontFile('.')).filter((name) => name.endsWith('.log'))
  for (const text of [log, ...others.map((name) => readFileSync(frontFile(name), 'utf8'))]) {
    expect(text).not.toContain(path)
  }
})

test('it ends on release, and leaves only its certificates', async () => {
  await acme.lab.edge.close({ release: true })
  expect([acme.caddyPids(), readdirSync(acme.lab.runDir)]).toEqual([[], []])
  expect(readdirSync(join(acme.dataDir, 'acme')).sort()).toEqual(expect.arrayContaining(['acme', 'certificates']))
  const before = acme.ca.orders()
  await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
  expect([await statusOf(HOST), acme.ca.orders()]).toEqual([200, before])
})

test('if its port is taken it reports so, and starts once it is free', async () => {
  await acme.lab.edge.close({ release: true })
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(acme.place.port, '127.0.0.1', resolve))
  try {
    await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
    const [problem] = await acme.lab.edge.problems()
    expect([problem?.code, problem?.evidence]).toEqual(['edge_down', expect.stringContaining(String(acme.place.port))])
  } finally {
    await new Promise<void>((resolve) => other.close(() => resolve()))
  }
  await eventually(async () => (await acme.lab.edge.problems()).length === 0)
  expect(await statusOf(HOST)).toBe(200)
})

test('without ACME Caddy ends, and the edge itself listens there', async () => {
  await acme.lab.leave()
  const { port } = acme.place
  const plain = createEdgeLab({ runDir: acme.lab.runDir, port })
  try {
    await plain.open({ routes: [plain.route(HOST, shop)] })
    expect([acme.caddyPids(), await plain.edge.problems()]).toEqual([[], []])
    expect((await plain.ask(['GET / HTTP/1.1', `host: ${HOST}`])).status).toBe(200)
    await plain.leave()
    await acme.lab.open({ routes: [acme.lab.route(HOST, shop)] })
    expect([await acme.lab.edge.problems(), await statusOf(HOST)]).toEqual([[], 200])
  } finally {
    // The lab would restart the edge that `plain` closes.
    await acme.lab.leave()
    await plain.close()
  }
})

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { TESTED_AGENT } from '../../helpers/programs.ts'
import { freePort, startService, type TestService } from '../../helpers/service.ts'

interface Answer {
  code: number | null
  output: string
}

interface Check {
  check: string
  level: string
  code: string | null
  evidence: string
  remedy: string | null
}

let scratch: string
const servers: Server[] = []

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-doctor-'))
})

afterAll(() => {
  for (const server of servers) server.close()
  rmSync(scratch, { recursive: true, force: true })
})

/** Runs doctor with only these settings, as right after installation. */
function doctor(args: readonly string[], env: NodeJS.ProcessEnv, wrapper: readonly string[] = []): Promise<Answer> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', join(ROOT, TESTED_AGENT), 'doctor']
  const [program = '', ...rest] = [...wrapper, ...command, ...args]
  const child = spawn(program, rest, { env: { PATH: process.env['PATH'], ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

async function checksOf(env: NodeJS.ProcessEnv, ...args: string[]): Promise<{ code: number | null; checks: Check[] }> {
  const { code, output } = await doctor(['--json', ...args], env)
  return { code, checks: JSON.parse(output).checks }
}

/** Returns settings of a deployment that shares nothing with others on this machine. */
async function settingsOf(name: string): Promise<Record<string, string>> {
  const ports = ['', 'AGENT_', 'DATA_', 'METRICS_', 'EDGE_'].map(async (kind) => [
    `BOXYARD_${kind}PORT`,
    String(await freePort()),
  ])
  const own = Object.fromEntries(await Promise.all(ports)) as Record<string, string>
  return { ...own, BOXYARD_BASE: 'busybox', BOXYARD_POOL_GB: '1', BOXYARD_DATA_DIR: join(scratch, name) }
}

/** Returns the codes of failed checks, except those caused by this machine or by other tests on it. */
function wrongIn(checks: readonly Check[]): (string | null)[] {
  const own = ['clock_unsynchronized', 'dns_silent', 'network']
  return checks
    .filter(({ level, code, evidence }) => level !== 'ok' && !own.includes(code ?? '') && !OF_HOST.test(evidence))
    .map(({ code }) => code)
}

/** Problems of the host's network, which tests that run at the same time may change. */
const OF_HOST =
  /^(forward_dropped|forwarding_off|subnet_in_use|packet_filter_removed|(connections|neighbours)_used_up|no_nameserver): /

const find = (checks: readonly Check[], code: string): Check | undefined => checks.find((check) => check.code === code)

describe('before anything is started', () => {
  test('nothing is wrong with this machine, and nothing is made', async () => {
    const settings = await settingsOf('none')
    const { code, checks } = await checksOf(settings)
    expect(wrongIn(checks)).toEqual([])
    expect([code, [...new Set(checks.map(({ check }) => check))].sort()]).toEqual([
      checks.some(({ level }) => level === 'problem') ? 1 : 0,
      ['cgroups', 'clock', 'disk', 'dns', 'kernel', 'namespaces', 'network', 'permissions', 'ports', 'programs'].concat(
        ...['service', 'settings', 'terminals', 'units', 'versions'],
      ),
    ])
    expect(statSync(settings['BOXYARD_DATA_DIR'] ?? '', { throwIfNoEntry: false })).toBeUndefined()
  })

  test('a port that another program has is told with its process', async () => {
    const settings = await settingsOf('port')
    const taken = createServer().listen(Number(settings['BOXYARD_DATA_PORT']), '127.0.0.1')
    servers.push(taken)
    await new Promise((resolve) => taken.once('listening', resolve))
    const { code, checks } = await checksOf(settings)
    expect([code, wrongIn(checks)]).toEqual([1, ['port_taken']])
    expect(find(checks, 'port_taken')?.evidence).toMatch(/\(BOXYARD_DATA_PORT\) is in use by .* \(process \d+/)
    expect(find(checks, 'port_taken')?.evidence).toContain(`process ${process.pid}`)
  })

  test('programs that are missing are told with their packages', async () => {
    const { code, checks } = await checksOf({ ...(await settingsOf('programs')), PATH: '/nowhere' })
    expect([code, find(checks, 'program_missing')?.remedy]).toEqual([
      1,
      expect.stringContaining('crun btrfs-progs dnsmasq-base haproxy nftables'),
    ])
  })

  test('settings that are wrong are told, and all else is looked at', async () => {
    const settings = { ...(await settingsOf('settings')), BOXYARD_POOL_GB: 'much', BOXYARD_COLOUR: 'red' }
    const { code, checks } = await checksOf(settings)
    expect([code, wrongIn(checks)]).toEqual([1, ['setting_wrong', 'setting_wrong']])
    expect(checks.length).toBeGreaterThan(10)
  })

  test('without root it tells what it could not look at', async () => {
    // Like an installed program, any user can read this copy.
    const copy = join(scratch, 'copy')
    mkdirSync(copy)
    chmodSync(scratch, 0o755)
    for (const part of ['agent', 'shared', 'package.json'])
      cpSync(join(ROOT, part), join(copy, part), { recursive: true })
    cpSync(process.execPath, join(copy, 'node'), { dereference: true })
    for (const name of [
      'zod',
      'koffi',
      '@koromix',
      'jose',
      'undici',
      'prom-client',
      'ws',
      'zod-openapi',
      'bintrees',
      'tdigest',
      '@opentelemetry',
    ])
      cpSync(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name), { recursive: true })
    const child = spawn(
      'setpriv',
      [
        ...['--reuid', 'nobody', '--regid', 'nogroup', '--clear-groups', join(copy, 'node')],
        ...['--disable-warning=ExperimentalWarning', join(copy, 'agent/main.ts'), 'doctor'],
      ],
      { env: { PATH: process.env['PATH'], ...(await settingsOf('nobody')) }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect([code, output]).toEqual([0, expect.stringMatching(/^unknown +network +nftables: .*not permitted/m)])
    expect(output).toMatch(/ not checked\.\n$/)
  })

  test('in a checkout it needs no more than Node.js packages', async () => {
    const checkout = join(scratch, 'checkout')
    execFileSync('git', ['clone', '--quiet', '--shared', ROOT, checkout])
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...(await settingsOf('fresh')) }
    const child = spawn('npm', ['run', '--silent', 'doctor', '--', '--json'], {
      ...{ cwd: checkout, env, stdio: ['ignore', 'pipe', 'inherit'] },
    })
    let output = ''
    child.stdout?.on('data', (data: Buffer) => (output += data.toString()))
    await new Promise((resolve) => child.once('close', resolve))
    expect(wrongIn(JSON.parse(output).checks)).toEqual([])
  })

  test('wrong options end with 2, and --help with 0', async () => {
    expect(await doctor(['--wrong'], {})).toEqual({ code: 2, output: expect.stringContaining('Usage: boxyard doctor') })
    expect(await doctor(['--help'], {})).toEqual({ code: 0, output: expect.stringMatching(/^Usage: boxyard doctor/) })
  })

  test('a disk that is full, and one that forgets, are told', async () => {
    const settings = await settingsOf('full')
    const directory = settings['BOXYARD_DATA_DIR'] ?? ''
    mkdirSync(directory, { mode: 0o700 })
    // Uses its own mount namespace, whose mounts end with it.
    const script = `mount -t tmpfs -o size=300m,mode=700 tmpfs ${directory} && head -c 290m /dev/zero >${directory}/pool.img && chmod 600 ${directory}/pool.img && exec "$@"`
    const { code, output } = await doctor(['--json'], settings, ['unshare', '--mount', 'sh', '-c', script, 'sh'])
    const { checks } = JSON.parse(output) as { checks: Check[] }
    expect([code, wrongIn(checks).sort()]).toEqual([1, ['disk_full', 'disk_volatile']])
  })
})

describe('beside a service', () => {
  let service: TestService

  beforeAll(async () => {
    service = await startService({ settings: { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' } })
  })

  afterAll(() => service.close())

  const look = (...args: string[]) => checksOf(service.environment, ...args)

  test('nothing is wrong while it serves, and its ports are its own', async () => {
    const { checks } = await look()
    expect(wrongIn(checks)).toEqual([])
    const [health] = checks.filter(({ check }) => check === 'service')
    if (!OF_HOST.test(health?.evidence ?? '')) expect(health?.evidence).toBe(`${service.url}/healthz reports ok.`)
    expect(checks.find(({ check }) => check === 'ports')?.evidence).toMatch(/belong to this service \(4\)\.$/)
  })

  test('what health says is wrong is passed on', async () => {
    await service.killAgent('SIGTERM')
    const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'))
    database.exec(`INSERT INTO volumes (id, project, name, version, record)
      VALUES ('vol_00000000000000000000000001', 'p', 'gone', 1, '${JSON.stringify(LOST_VOLUME)}')`)
    database.close()
    await service.startAgent()
    const { code, checks } = await look()
    expect([code, find(checks, 'health')?.evidence]).toEqual([1, expect.stringMatching(/^missing_subvolumes: /)])
    expect((await service.request('/v1/projects/p/data/gone', { method: 'DELETE' })).status).toBe(204)
    await service.killAgent('SIGTERM')
    await service.startAgent()
  })

  test('modes that are wrong are told, and corrected when asked', async () => {
    const token = join(service.dataDir, 'admin.token')
    const keys = join(service.dataDir, 'keys')
    chmodSync(token, 0o644)
    chmodSync(keys, 0o755)
    const { code, checks } = await look()
    expect([code, wrongIn(checks)]).toEqual([1, ['mode_open', 'mode_open']])
    expect(statSync(token).mode & 0o777).toBe(0o644)
    const fixed = await doctor(['--fix'], service.environment)
    expect(fixed.output).toContain(`Done: chmod 0600 ${token}\n`)
    expect([statSync(token).mode & 0o777, statSync(keys).mode & 0o777]).toEqual([0o600, 0o700])
    expect(wrongIn((await look()).checks)).toEqual([])
  })

  test('an agent that is away is told, with its last error, and nothing is changed', async () => {
    await service.killAgent('SIGKILL')
    mkdirSync(join(service.dataDir, 'log'), { mode: 0o700 })
    writeFileSync(
      join(service.dataDir, 'log/agent.log'),
      `${JSON.stringify({ level: 'error', message: 'No disk is left.', fatal: true })}\n`,
    )
    const { code, checks } = await look()
    expect([code, find(checks, 'health')?.evidence]).toEqual([1, expect.stringMatching(/^agent_unavailable: /)])
    const { checks: stopped } = await checksOf({ ...service.environment, BOXYARD_PORT: String(await freePort()) })
    expect(find(stopped, 'service_stopped')?.evidence).toMatch(/ECONNREFUSED.*Its last error: No disk is left\.$/)
    await service.startAgent()
  })

  test('an agent without a front is told', async () => {
    const { checks } = await checksOf({ ...service.environment, BOXYARD_PORT: String(await freePort()) })
    expect(find(checks, 'service_silent')?.evidence).toContain(`process ${service.agentPid}`)
  })

  test('data of a newer version, and damaged data, are told', async () => {
    const copy = join(scratch, 'newer')
    mkdirSync(copy, { mode: 0o700 })
    const settings = { ...(await settingsOf('newer')), BOXYARD_DATA_DIR: copy }
    const database = new DatabaseSync(join(copy, 'boxyard.db'))
    database.exec(
      "PRAGMA user_version = 999; CREATE TABLE meta (key TEXT, value TEXT); INSERT INTO meta VALUES ('pool_id', 'x')",
    )
    database.close()
    chmodSync(join(copy, 'boxyard.db'), 0o600)
    const { code, checks } = await checksOf(settings)
    expect([code, wrongIn(checks)]).toEqual([1, ['schema_newer', 'pool_missing', 'service_stopped']])
    writeFileSync(join(copy, 'boxyard.db'), 'no database, and longer than the head of one is: '.repeat(20))
    expect(find((await checksOf(settings)).checks, 'database_unreadable')?.evidence).toContain('not a database')
  })
})

const LOST_VOLUME = {
  ...{ id: 'vol_00000000000000000000000001', project: 'p', name: 'gone', version: 1, createdAt: 0, updatedAt: 0 },
  ...{ sizeGb: 1, subvolume: 'vol_00000000000000000000000001', tags: {}, from: null, backupSchedule: null },
}

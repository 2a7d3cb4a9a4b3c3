import { execFileSync, spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { agentCommand, ROOT } from '../../../infra/commands.ts'
import { parseChannelKeys, parseTokenKeys } from '../../../shared/auth/keys.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let scratch: string
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

const draw = (): string => randomBytes(18).toString('base64url')
const S3 = { access_key_id: `K${draw()}`, secret_access_key: draw() }
const ENVIRONMENT = { box: `box value "${draw()}"`, service: draw(), command: draw() }
const { privateKey: PEM } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-support-test-'))
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' } })
  const boxes = '/v1/projects/help/boxes'
  expect((await client.post(boxes, { name: 'one', environment: { KEY: ENVIRONMENT.box } })).status).toBe(201)
  const asked = { command: ['/bin/sleep', '600'], env: { PASS: ENVIRONMENT.service } }
  expect((await client.put(`${boxes}/one/services/web`, asked)).status).toBeLessThan(300)
  await client.post(`${boxes}/one/exec`, { command: ['true'], env: { PASS: ENVIRONMENT.command } })
})

afterAll(async () => {
  rmSync(scratch, { recursive: true, force: true })
  await service.close()
})

/** Returns every secret of the deployment, by what it is. */
async function secrets(): Promise<Record<string, string>> {
  const keys = (name: string): string => readFileSync(join(service.dataDir, 'keys', name), 'utf8')
  const minted = await client.post('/v1/tokens', { name: 'ci', projects: '*', permissions: ['read'] })
  return {
    ...{ 'admin token': service.adminToken, 'minted token': minted.body.token },
    'private token key': parseTokenKeys(keys('token-private.json')).keys[0]?.d ?? '',
    'channel key': parseChannelKeys(keys('channel.json')).keys[0]?.secret ?? '',
    ...{ 'key id': S3.access_key_id, 'S3 key': S3.secret_access_key },
    ...{ 'of a box': ENVIRONMENT.box, 'of a service': ENVIRONMENT.service, 'of a command': ENVIRONMENT.command },
    'line of a TLS key': PEM.split('\n')[1] ?? '',
    'old channel key in settings': draw(),
  }
}

/** Runs `support` and returns its exit code and output. */
async function support(path: string, env: NodeJS.ProcessEnv) {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(ROOT, 'agent/main.ts'), 'support', path],
    { env: { ...service.environment, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}

const readPart = (path: string, name: string): string =>
  execFileSync('tar', ['-xzOf', path, `boxyard-support/${name}`], { encoding: 'utf8' })

test('the archive tells what is needed, and holds no secret of settings, files, records or logs', async () => {
  const known = await secrets()
  const certificates = join(scratch, 'certificates')
  mkdirSync(certificates)
  writeFileSync(join(certificates, 'site.pem'), PEM, { mode: 0o600 })
  writeFileSync(join(scratch, 's3.json'), JSON.stringify(S3), { mode: 0o600 })
  mkdirSync(join(service.dataDir, 'log'), { mode: 0o700 })
  // Neither records nor logs ever contain the environment of a command.
  const logged = Object.entries(known).filter(([what]) => what !== 'of a command')
  const lines = logged.flatMap(([what, secret]) => [
    JSON.stringify({ level: 'info', message: `${what}: ${secret}` }),
    `plain ${what} ${secret} and ${encodeURIComponent(secret)}`,
  ])
  for (const name of ['agent.log', 'front.log'])
    writeFileSync(join(service.dataDir, 'log', name), `${lines.join('\n')}\n${PEM}the last line\n`)
  const path = join(scratch, 'one.tar.gz')
  const { code, output } = await support(path, {
    BOXYARD_BACKUP_S3_ENDPOINT: 'http://127.0.0.1:9',
    BOXYARD_BACKUP_S3_BUCKET: 'bucket',
    BOXYARD_BACKUP_S3_KEY_FILE: join(scratch, 's3.json'),
    BOXYARD_EDGE_CERTIFICATES: certificates,
    BOXYARD_CHANNEL_KEYS: JSON.stringify({
      agent_id: 'a',
      keys: [{ id: 'k', secret: known['old channel key in settings'] }],
    }),
  })
  expect([code, output]).toEqual([0, expect.stringContaining(path)])
  expect(statSync(path).mode & 0o777).toBe(0o600)

  const bytes = gunzipSync(readFileSync(path)).toString()
  for (const [what, secret] of Object.entries(known)) {
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
    expect([what, forms.filter((form) => bytes.includes(form))]).toEqual([what, []])
  }
  for (const line of PEM.trim().split('\n')) expect(bytes).not.toContain(line)

  expect(readPart(path, 'log/agent.log')).toMatch(/plain of a box \[redacted\] and [^]*\nthe last line\n$/)
  expect(JSON.parse(readPart(path, 'service/healthz.json'))).toMatchObject({ status: expect.any(String), boxes: {} })
  expect(JSON.parse(readPart(path, 'service/storage.json'))).toMatchObject({ pool: expect.any(Object) })
  expect(JSON.parse(readPart(path, 'service/version.json'))).toMatchObject({ api_version: 'v1' })
  expect(readPart(path, 'settings.txt')).toContain(`BOXYARD_DATA_DIR=${service.dataDir}\n`)
  expect(readPart(path, 'settings.txt')).toContain('BOXYARD_CHANNEL_KEYS=[redacted]\n')
  expect(readPart(path, 'data-directory.txt')).toMatch(/^admin\.token {2}0600, uid 0/m)
  expect(readPart(path, 'pool.txt')).toContain('_BHRfS_M')
  expect(readPart(path, 'doctor.txt')).toMatch(/^ok +kernel +Linux /m)
  expect(readPart(path, 'host/uname.txt')).toMatch(/^Linux /)
})

test('it works without a service, and writes over nothing', async () => {
  const path = join(scratch, 'two.tar.gz')
  const env = { BOXYARD_DATA_DIR: join(scratch, 'none'), BOXYARD_PORT: '1' }
  expect((await support(path, env)).code).toBe(0)
  expect(readPart(path, 'service/healthz.json')).toContain('not readable: no answer')
  const before = readFileSync(path)
  const { code, output } = await support(path, env)
  expect([code, output]).toEqual([1, expect.stringContaining('EEXIST')])
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(readdirSync(scratch).filter((name) => name.endsWith('.gz'))).toEqual(['one.tar.gz', 'two.tar.gz'])
})

test('it never writes through a link that takes the place of the archive meanwhile', async () => {
  const [bin, victim, path] = ['links', 'victim', 'replaced.tar.gz'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(bin)
  writeFileSync(victim, 'kept')
  const real = execFileSync('sh', ['-c', 'command -v tar'], { encoding: 'utf8' }).trim()
  const swap = `#!/bin/sh\nln -sf ${victim} ${path}\nexec ${real} "$@"\n`
  writeFileSync(join(bin, 'tar'), swap, { mode: 0o755 })
  await support(path, {
    BOXYARD_DATA_DIR: join(scratch, 'none'),
    BOXYARD_PORT: '1',
    PATH: `${bin}:${process.env['PATH']}`,
  })
  expect([readlinkSync(path), readFileSync(victim, 'utf8')]).toEqual([victim, 'kept'])
})

test('one that is interrupted leaves neither an archive nor a directory', async () => {
  const bin = join(scratch, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'tar'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 })
  const [program = '', ...args] = agentCommand(['support', join(scratch, 'three.tar.gz')])
  const temporary = join(scratch, 'tmp')
  mkdirSync(temporary)
  const given = { BOXYARD_DATA_DIR: join(scratch, 'none'), BOXYARD_PORT: '1', TMPDIR: temporary }
  const child = spawn(program, args, { env: { ...given, PATH: `${bin}:${process.env['PATH']}` }, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await eventually(() => readdirSync(temporary).length > 0)
  child.kill('SIGINT')
  expect([await ended, readdirSync(temporary)]).toEqual([[1, null], []])
  expect(readdirSync(scratch)).not.toContain('three.tar.gz')
})

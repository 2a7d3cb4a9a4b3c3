import { execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { agentCommand } from '../../../infra/commands.ts'
import { createClient } from '../../helpers/front/client.ts'
import { TESTED_AGENT } from '../../helpers/programs.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let scratch: string
let first: TestService | null = null
let archive: string
let token: string
const boxes = '/v1/projects/move/boxes'
const clientOf = (service: TestService, bearer = service.adminToken) =>
  createClient(
    () => service.url,
    () => bearer,
  )

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'boxyard-host-backup-'))
  first = await startService({ settings: SMALL })
  const client = clientOf(first)
  expect((await client.post(boxes, { name: 'web', environment: { A: '1' } })).status).toBe(201)
  await client.post(`${boxes}/web/exec`, { shell: 'echo kept > /root/file; sync' })
  token = (await client.post('/v1/tokens', { name: 'ci', projects: ['move'], permissions: ['read', 'exec'] })).body
    .token
})

afterAll(async () => {
  await first?.close()
  rmSync(scratch, { recursive: true, force: true })
})

const SMALL = { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' }

/** Runs a mode of the agent, answers its prompt on stdin, and returns its exit code and output. */
function run(args: readonly string[], env: NodeJS.ProcessEnv, answer?: string): Promise<[number | null, string]> {
  const [program = '', ...rest] = agentCommand(args, TESTED_AGENT)
  const child = spawn(program, rest, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  child.stdin.end(answer)
  return new Promise((resolve) => child.once('close', (code) => resolve([code, output])))
}

const running = (): TestService => {
  if (first === null) throw new Error('It has been closed.')
  return first
}

/** Restores the archive to a new directory, and returns its settings. */
async function restoreTo(name: string, ...options: string[]): Promise<NodeJS.ProcessEnv> {
  const env = { ...process.env, BOXYARD_DATA_DIR: join(scratch, name) }
  expect(await run(['admin', 'restore', archive, ...options], env)).toEqual([0, expect.stringMatching(/^Restored to /)])
  return env
}

test('a backup of a running service is one archive for its owner alone, and says what is not in it', async () => {
  const [code, output] = await run(['admin', 'backup', scratch], running().environment)
  const names = readdirSync(scratch)
  expect([code, names]).toEqual([0, [expect.stringMatching(/^boxyard-backup-.*\.tar\.gz$/)]])
  archive = join(scratch, names[0] ?? '')
  expect(statSync(archive).mode & 0o777).toBe(0o600)
  expect(output).toContain(`It does not contain data of boxes, volumes, snapshots and bases`)
  expect(output).toContain(join(running().dataDir, 'pool.img'))
  const listed = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' })
  for (const name of [
    'manifest.json',
    'boxyard.db',
    'keys/channel.json',
    'keys/token-private.json',
    'admin.token',
    'settings.conf',
  ])
    expect(listed.split('\n')).toContain(`boxyard-backup/${name}`)
  expect(execFileSync('tar', ['-xzOf', archive, 'boxyard-backup/settings.conf'], { encoding: 'utf8' })).toContain(
    `BOXYARD_DATA_DIR=${running().dataDir}\n`,
  )
  // No backup leaves a second file or a work directory. It also removes the work directory of a killed backup.
  mkdirSync(join(scratch, `.boxyard-backup-${hostname()}-${2 ** 22 + 1}-abc`))
  // A directory of that name from another user may contain links, so it stays.
  const foreign = join(scratch, `.boxyard-backup-${hostname()}-${2 ** 22 + 2}-abc`)
  mkdirSync(foreign)
  chownSync(foreign, 1234, 1234)
  mkdirSync(join(scratch, 'second'))
  expect((await run(['admin', 'backup', join(scratch, 'second.tar.gz')], running().environment))[0]).toBe(0)
  for (const name of ['second', 'second.tar.gz']) rmSync(join(scratch, name), { recursive: true })
  expect(await run(['admin', 'backup', archive], running().environment)).toEqual([
    1,
    expect.stringContaining('already exists'),
  ])
  expect(existsSync(foreign)).toBe(true)
  rmSync(foreign, { recursive: true })
  expect(readdirSync(scratch)).toEqual(names)
})

test.each([
  [['admin', 'backup'], 'Expected: admin backup FILE|DIR'],
  [['admin', 'backup', 'a', 'b'], 'Expected: admin backup FILE|DIR'],
  [['admin', 'restore'], 'Expected: admin restore FILE'],
  [['admin', 'restore', '/nowhere'], 'already has a deployment'],
  [['admin', 'uninstall'], 'Give either --keep-data or --purge-data'],
  [['admin', 'uninstall', '--keep-data', '--purge-data'], 'Give either --keep-data or --purge-data'],
])('%j is refused beside a service', async (args, message) => {
  expect(await run(args, running().environment)).toEqual([1, expect.stringContaining(message)])
})

test.each(['backup', 'restore', 'uninstall'])('admin %s --help tells how it is used', async (mode) => {
  expect(await run(['admin', mode, '--help'], running().environment)).toEqual([
    0,
    expect.stringMatching(new RegExp(`^Usage: admin ${mode} `)),
  ])
})

test('serve --help serves nothing', async () => {
  expect(await run(['serve', '--help'], running().environment)).toEqual([0, expect.stringMatching(/^Usage: /)])
})

test('an archive is not restored beside its own deployment, nor if it is damaged or no archive', async () => {
  const env = { ...process.env, BOXYARD_DATA_DIR: join(scratch, 'refused') }
  expect(await run(['admin', 'restore', archive], env)).toEqual([1, expect.stringContaining('is still on this host')])
  const damaged = join(scratch, 'damaged.tar.gz')
  const unpacked = join(scratch, 'unpacked')
  mkdirSync(unpacked)
  execFileSync('tar', ['-xzf', archive, '-C', unpacked])
  writeFileSync(join(unpacked, 'boxyard-backup/keys/channel.json'), '{}')
  execFileSync('tar', ['-czf', damaged, '-C', unpacked, 'boxyard-backup'])
  expect(await run(['admin', 'restore', damaged], env)).toEqual([
    1,
    expect.stringContaining('The archive is damaged: the checksum of keys/channel.json'),
  ])
  execFileSync('tar', ['-czf', damaged, '-C', unpacked, '--exclude=manifest.json', 'boxyard-backup'])
  expect(await run(['admin', 'restore', damaged], env)).toEqual([1, expect.stringContaining('it has no manifest')])
  expect(existsSync(join(scratch, 'refused'))).toBe(false)
})

test('a restore that was cut off is done again by the same command', async () => {
  const { environment } = running()
  const directory = join(scratch, 'cut-off')
  mkdirSync(join(directory, '.restoring'), { recursive: true, mode: 0o700 })
  writeFileSync(join(directory, 'instance'), 'half')
  const env = { ...environment, BOXYARD_DATA_DIR: directory, BOXYARD_RUN_DIR: join(scratch, 'run') }
  expect(await run(['admin', 'restore', archive], env)).toEqual([0, expect.stringMatching(/^Restored to /)])
  expect(readFileSync(join(directory, 'instance'), 'utf8')).toBe(
    readFileSync(join(running().dataDir, 'instance'), 'utf8'),
  )
  // Without the mark, the files belong to someone else.
  rmSync(join(directory, 'boxyard.db'))
  expect(await run(['admin', 'restore', archive], env)).toEqual([
    1,
    expect.stringContaining('already has a deployment (instance, '),
  ])
})

test('a pool that is there is not taken for a new one', async () => {
  const directory = join(scratch, 'with-pool')
  mkdirSync(directory)
  writeFileSync(join(directory, 'pool.img'), '')
  const env = { ...process.env, BOXYARD_DATA_DIR: directory, BOXYARD_RUN_DIR: join(scratch, 'run') }
  const [code, output] = await run(['admin', 'restore', archive, '--without-pool'], env)
  expect([code, output, readdirSync(directory)]).toEqual([1, expect.stringContaining('pool.img exists'), ['pool.img']])
})

test('uninstall that is not confirmed, or beside an agent, changes nothing', async () => {
  const { environment, dataDir } = running()
  for (const answer of ['', 'yes\n', `${dataDir}x\n`]) {
    const [code, output] = await run(['admin', 'uninstall', '--purge-data'], environment, answer)
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/You cannot undo this\.[^]*Canceled\. Nothing changed\.\n$/),
    ])
  }
  expect(await run(['admin', 'uninstall', '--purge-data'], environment, `${dataDir}\n`)).toEqual([
    1,
    expect.stringMatching(/Another agent runs on .* \(process \d+\)/),
  ])
  expect((await clientOf(running()).get(`${boxes}/web`)).body.status).toBe('running')
})

test('a deployment moves with its pool: tokens, boxes and their files are as they were', async () => {
  const { dataDir, environment } = running()
  await running().killAgent('SIGTERM')
  await running().runAgentMode('down')
  const second = await startService({
    settings: SMALL,
    prepare: (target) => {
      copyFileSync(join(dataDir, 'pool.img'), join(target, 'pool.img'))
      const [program = '', ...rest] = agentCommand(['admin', 'restore', archive], TESTED_AGENT)
      execFileSync(program, rest, { env: { ...process.env, BOXYARD_DATA_DIR: target } })
    },
  })
  try {
    for (const name of ['instance', 'admin.token', 'keys/channel.json', 'keys/token-private.json'])
      expect(readFileSync(join(second.dataDir, name), 'utf8')).toBe(readFileSync(join(dataDir, name), 'utf8'))
    for (const name of ['boxyard.db', 'admin.token', 'keys/channel.json', 'restored-settings.conf'])
      expect([name, statSync(join(second.dataDir, name)).mode & 0o777]).toEqual([name, 0o600])
    expect(existsSync(join(second.dataDir, '.restoring'))).toBe(false)
    const client = clientOf(second, token)
    expect((await clientOf(second).get(`${boxes}/web`)).body).toMatchObject({ environment: { A: '1' } })
    const resumed = await clientOf(second).post(`${boxes}/web/resume`)
    const answer = await client.post(`${boxes}/web/exec`, { shell: 'cat /root/file' })
    expect([resumed.body, answer.body]).toMatchObject([{ status: 'running' }, { stdout: 'kept\n' }])
    expect((await client.get('/v1/me')).body.name).toBe('ci')
    expect(environment['BOXYARD_DATA_DIR']).toBe(dataDir)
  } finally {
    await second.close()
  }
})

test('without its pool a deployment starts with a new one, and lists what is lost', async () => {
  const third = await startService({
    settings: SMALL,
    prepare: (target) => {
      const [program = '', ...rest] = agentCommand(['admin', 'restore', archive, '--without-pool'], TESTED_AGENT)
      execFileSync(program, rest, { env: { ...process.env, BOXYARD_DATA_DIR: target } })
    },
  })
  try {
    const client = clientOf(third)
    const { body } = await client.get('/healthz')
    expect(body.problems.map(({ code }: { code: string }) => code)).toContain('missing_subvolumes')
    expect((await client.delete(`${boxes}/web`)).status).toBe(204)
    expect((await client.post(boxes, { name: 'web' })).status).toBe(201)
    expect((await clientOf(third, token).get('/v1/me')).body.name).toBe('ci')
  } finally {
    await third.close()
  }
})

test('uninstall stops the boxes, keeps the data or removes it, and nothing of others', async () => {
  const env = await restoreTo('gone')
  const directory = env['BOXYARD_DATA_DIR'] ?? ''
  const kept = await run(['admin', 'uninstall', '--keep-data', '--yes'], env)
  expect(kept).toEqual([0, expect.stringMatching(/Stopped 0 boxes[^]*Kept in /)])
  expect(existsSync(join(directory, 'boxyard.db'))).toBe(true)
  writeFileSync(join(directory, 'mine'), 'of the operator')
  const purged = await run(['admin', 'uninstall', '--purge-data'], env, `${directory}\n`)
  expect(purged).toEqual([0, expect.stringContaining(`Kept files in ${directory} that do not belong to Boxyard.`)])
  expect(readdirSync(directory)).toEqual(['mine'])
})

test('uninstall after a service leaves nothing of it', async () => {
  const service = running()
  await service.startAgent()
  await service.killAgent('SIGTERM')
  const [code, output] = await run(['admin', 'uninstall', '--purge-data', '--yes'], service.environment)
  expect([code, output]).toEqual([0, expect.stringContaining(`Removed ${service.dataDir}.`)])
  expect(existsSync(service.dataDir)).toBe(false)
})

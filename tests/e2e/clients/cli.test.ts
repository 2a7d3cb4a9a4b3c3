import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { COMPLETION } from '../../../cli/completion/scripts.ts'
import { HOST_WORDS } from '../../../cli/host-words.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'
import { buildCli } from '../../../infra/cli-bundle.ts'
import { ROOT } from '../../../infra/commands.ts'
import { OPERATIONS } from '../../../shared/routes.ts'
import { startService, type TestService } from '../../helpers/service.ts'

interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

let service: TestService
let directory: string
let program: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-cli-'))
  program = await buildCli(directory)
  writeFileSync(join(directory, 'index.html'), '<!doctype html>')
  service = await startService({ settings: { BOXYARD_CONSOLE_DIR: directory } })
  expect(await boxyard(['login', service.url, '--name', 'test'], { input: service.adminToken })).toMatchObject({
    code: 0,
  })
  expect(await boxyard(['use', 'demo'])).toMatchObject({ code: 0 })
  expect(await boxyard(['create', 'web'])).toMatchObject({ code: 0 })
})

afterAll(async () => {
  await service.close()
  rmSync(directory, { recursive: true, force: true })
})

interface How {
  input?: string
  cwd?: string
  env?: Record<string, string>
}

/** Runs the bundle as a user does. */
function boxyard(args: readonly string[], { input = '', cwd = directory, env = {} }: How = {}): Promise<Ran> {
  const environment = { PATH: process.env['PATH'], HOME: directory, BOXYARD_DATA_DIR: '/nonexistent', ...env }
  const child = spawn(process.execPath, [program, ...args], { cwd, env: environment })
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (piece: Buffer) => (text.stdout += piece.toString('utf8')))
  child.stderr.on('data', (piece: Buffer) => (text.stderr += piece.toString('utf8')))
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
}

describe('the table of verbs', () => {
  test('reaches every operation of the document but those of browsers', () => {
    const reached = new Set<string>(allVerbs().flatMap(({ operations }) => operations))
    expect(OPERATIONS.map(({ id }) => id).filter((id) => !reached.has(id))).toEqual([
      'signIn',
      'signOut',
      'getSignInLink',
    ])
  })

  test('names no verb twice, and none as a mode of the host’s program', () => {
    const words = allVerbs().map((verb) => verb.words)
    expect(words.filter((word, i) => words.indexOf(word) !== i)).toEqual([])
    expect(words.filter((word) => HOST_WORDS.has(word.split(' ')[0] ?? ''))).toEqual([])
  })

  test('every verb has help with an example', async () => {
    for (const { words, examples } of allVerbs()) expect([words, examples.length > 0]).toEqual([words, true])
    const { code, stdout } = await boxyard(['volume', 'attach', '--help'])
    expect([code, stdout.includes('Examples:\n  boxyard volume attach volume box path')]).toEqual([0, true])
  })
})

describe('the reference', () => {
  const reference = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8')

  test('tells of every verb that the help lists', async () => {
    const { stdout } = await boxyard(['--help'])
    const [, groups = ''] = stdout.split('display help for command\n')
    const words = (groups.match(/^ {2}[a-z-]+(?= {2})/gm) ?? []).map((line) => line.trim())
    expect(words).toEqual(expect.arrayContaining(['create', 'volume', 'completion']))
    expect(words.length).toBe(new Set(allVerbs().map((verb) => verb.words.split(' ')[0])).size + 1)
    expect(words.filter((word) => !new RegExp(`^#### boxyard ${word}( |$)`, 'm').test(reference))).toEqual([])
  })

  test('tells of completion what its help does', async () => {
    const { code, stdout } = await boxyard(['completion', '--help'])
    expect([code, stdout.includes(COMPLETION.summary)]).toEqual([0, true])
    expect(reference).toContain(`${COMPLETION.summary}.`)
  })
})

describe('a flag of several values', () => {
  test('takes them by commas, repeated, and both', async () => {
    for (const [i, given] of [['read,exec'], ['read', 'exec'], ['read,write', 'exec']].entries()) {
      const flags = given.flatMap((value) => ['--permissions', value])
      const made = await boxyard(['token', 'create', `ci-${i}`, '--projects', 'demo,other', ...flags, '-o', 'json'])
      expect(JSON.parse(made.stdout)).toMatchObject({
        projects: ['demo', 'other'],
        permissions: given.flatMap((value) => value.split(',')),
      })
    }
    const { stdout } = await boxyard(['events', '--type', 'box.created,token.*', '-o', 'json'])
    expect(JSON.parse(stdout).events.map(({ type }: { type: string }) => type)).toContain('box.created')
  })

  test('keeps commas where values may have some', async () => {
    const made = await boxyard(['create', 'comma', '--env', 'LIST=a,b', '-o', 'json'])
    expect(JSON.parse(made.stdout).environment).toEqual({ LIST: 'a,b' })
    await boxyard(['rm', 'comma'])
  })
})

describe('logins and contexts', () => {
  test('what was tested is kept for its owner alone', async () => {
    const path = join(directory, '.config/boxyard/config.toml')
    expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
    expect(readFileSync(path, 'utf8')).toContain('project = "demo"')
    const refused = await boxyard(['login', service.url, '--name', 'bad'], { input: 'no-token' })
    expect(refused.code).toBe(4)
    expect(readFileSync(path, 'utf8')).not.toContain('bad')
  })

  test('flags win over the environment, that over the file of the directory, that over the context', async () => {
    const place = join(directory, 'place/deep')
    mkdirSync(place, { recursive: true })
    const list = async (how: How, ...args: string[]): Promise<string> =>
      (await boxyard(['volume', 'ls', '-o', 'name', ...args], how)).stdout.trim()
    for (const project of ['demo', 'filed', 'env', 'flag']) {
      await boxyard(['volume', 'create', `of-${project}`, '--project', project])
    }
    writeFileSync(join(directory, 'place/.boxyard'), 'project = "filed"\n')
    const env = { BOXYARD_PROJECT: 'env' }
    expect(await list({})).toBe('of-demo')
    expect(await list({ cwd: place })).toBe('of-filed')
    expect(await list({ cwd: place, env })).toBe('of-env')
    expect(await list({ cwd: place, env }, '--project', 'flag')).toBe('of-flag')
  })

  test('without a login the service of this host is used, with its administrator’s token', async () => {
    const env = {
      HOME: join(directory, 'nobody'),
      BOXYARD_DATA_DIR: service.dataDir,
      BOXYARD_PORT: new URL(service.url).port,
    }
    expect((await boxyard(['ls', '-p', 'demo', '-o', 'name'], { env })).stdout).toBe('web\n')
  })

  test('a link to the console signs in, once, and is none to a service without one', async () => {
    const { stdout } = await boxyard(['console-url'])
    expect(stdout).toMatch(new RegExp(`^${service.url}/sign-in#[\\w-]{43}\n$`))
    const signIn = () => fetch(`${service.url}/v1/session?ticket=${stdout.trim().split('#')[1]}`, { method: 'POST' })
    expect([(await signIn()).status, (await signIn()).status]).toEqual([201, 401])
    const { url, expires_at } = JSON.parse((await boxyard(['console-url', '-o', 'json'])).stdout)
    expect([url, Date.parse(expires_at) > Date.now()]).toEqual([expect.stringContaining('/sign-in#'), true])
    // The data address serves no pages.
    const elsewhere = await boxyard(['console-url'], { env: { BOXYARD_URL: service.dataUrl, BOXYARD_TOKEN: 'x' } })
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('does not serve a web console') })
  })

  test('a project, and a log-out, are of the context that is named', async () => {
    const configDirectory = mkdtempSync(join(tmpdir(), 'boxyard-contexts-'))
    const own = (args: string[]) => boxyard(args, { env: { XDG_CONFIG_HOME: configDirectory, BOXYARD_URL: '' } })
    mkdirSync(join(configDirectory, 'boxyard'))
    writeFileSync(
      join(configDirectory, 'boxyard/config.toml'),
      'current = "a"\n[contexts.a]\nurl = "http://a.test"\nproject = "one"\n[contexts.b]\nurl = "http://b.test"\n',
    )
    const rows = async () => JSON.parse((await own(['context', 'ls', '-o', 'json'])).stdout) as unknown
    expect((await own(['use', 'two', '--context', 'b'])).code).toBe(0)
    expect(await rows()).toMatchObject([
      { name: 'a', project: 'one', status: 'current' },
      { name: 'b', project: 'two', status: '' },
    ])
    expect((await own(['use', 'two', '--context', 'none'])).code).toBe(2)
    expect((await own(['logout', '--context', 'b'])).code).toBe(0)
    expect(await rows()).toMatchObject([{ name: 'a', project: 'one', status: 'current' }])
    rmSync(configDirectory, { recursive: true })
  })

  test('exit codes tell usage, authentication and the rest apart', async () => {
    expect((await boxyard(['nonsense'])).code).toBe(2)
    expect((await boxyard(['create'])).code).toBe(2)
    expect((await boxyard(['doctor'])).code).toBe(2)
    expect((await boxyard(['ls', '--context', 'none'])).code).toBe(2)
    expect((await boxyard(['ls'], { env: { BOXYARD_URL: service.url, BOXYARD_TOKEN: 'bad' } })).code).toBe(4)
    const lost = await boxyard(['info', 'none'])
    expect([lost.code, lost.stdout, lost.stderr]).toEqual([1, '', 'boxyard: No box named "none" in project "demo".\n'])
    expect(await boxyard(['--version'])).toMatchObject({ code: 0, stdout: 'boxyard 0.1.0\n' })
  })
})

describe('boxes', () => {
  test('are listed as a table, JSON, YAML and names', async () => {
    expect((await boxyard(['ls'])).stdout).toMatch(/^NAME +ID .*\nweb +box_/)
    expect(JSON.parse((await boxyard(['ls', '-o', 'json'])).stdout)).toMatchObject({ boxes: [{ name: 'web' }] })
    expect((await boxyard(['ls', '-o', 'yaml'])).stdout).toMatch(/^boxes:\n +- id: /)
    expect((await boxyard(['ls', '-o', 'name'])).stdout).toBe('web\n')
  })

  test('one is forked, changed, stopped, resumed and deleted', async () => {
    expect((await boxyard(['fork', 'web', 'try', '--tag', 'a=b'])).code).toBe(0)
    await boxyard(['update', 'try', '--ram-mb', '64'])
    const info = JSON.parse((await boxyard(['info', 'try', '-o', 'json'])).stdout) as object
    expect(info).toMatchObject({ fork_of: 'web', config: { ram_mb: 64 }, tags: { a: 'b' } })
    expect((await boxyard(['stop', 'try'])).code).toBe(0)
    expect((await boxyard(['wait', 'try', 'stopped', '-o', 'name'])).stdout).toBe('try\n')
    expect((await boxyard(['resume', 'try'])).code).toBe(0)
    expect((await boxyard(['rm', 'try'])).code).toBe(0)
    expect((await boxyard(['info', 'try'])).code).toBe(1)
  })

  test('a snapshot is taken, told from the disk, and restored', async () => {
    await boxyard(['snapshot', 'web', 'good'])
    await boxyard(['exec', 'web', 'touch', '/root/later'])
    expect((await boxyard(['diff', 'web', 'good', 'live'])).stdout).toContain('/root/later')
    expect((await boxyard(['restore', 'web', 'good'])).code).toBe(0)
    expect((await boxyard(['exec', 'web', 'test', '-e', '/root/later'])).code).toBe(1)
  })

  test('a service is put with a command that has flags of its own', async () => {
    const put = await boxyard(['service', 'put', '-o', 'json', 'web', 'clock', 'sh', '-c', 'sleep 600'])
    expect(JSON.parse(put.stdout)).toMatchObject({ name: 'clock', state: 'running' })
    expect((await boxyard(['service', 'ls', 'web', '-o', 'name'])).stdout).toBe('clock\n')
    expect((await boxyard(['service', 'rm', 'web', 'clock'])).code).toBe(0)
    expect((await boxyard(['lease', 'web', '--seconds', '60'])).code).toBe(0)
  })

  test('any request can be sent', async () => {
    const body = '{"name":"raw"}'
    const made = await boxyard(['api', 'POST', '/v1/projects/{project}/data', '-d', body])
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'raw', project: 'demo' })
    expect((await boxyard(['api', 'GET', '/v1/nothing'])).code).toBe(1)
  })
})

describe('commands', () => {
  test('exit code, output and errors are those of the command, also its own flags', async () => {
    const ran = await boxyard(['exec', 'web', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    expect(ran).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
  })

  test('input goes in with -i', async () => {
    expect((await boxyard(['exec', '-i', 'web', 'cat'], { input: 'hello' })).stdout).toBe('hello')
  })

  test('one is detached, listed, and its record read', async () => {
    const id = (await boxyard(['exec', '--detach', 'web', 'sleep', '600'])).stdout.trim()
    expect((await boxyard(['ps', 'web', '--status', 'running', '-o', 'json'])).stdout).toContain(id)
    expect((await boxyard(['signal', 'web', id, 'SIGKILL'])).code).toBe(0)
    expect(JSON.parse((await boxyard(['exec', '--json', 'web', 'echo', 'a'])).stdout)).toMatchObject({ stdout: 'a\n' })
  })

  test('a console takes a line, and ends with its shell', async () => {
    const { code, stdout } = await boxyard(['console', 'web'], { input: 'echo se$((1))en; exit 3\n' })
    expect([code, stdout.includes('se1en')]).toEqual([3, true])
  })
})

describe('copies', () => {
  test('a file goes in and out, also by - and cat', async () => {
    writeFileSync(join(directory, 'file'), 'content')
    await boxyard(['cp', 'file', 'web:/root/'])
    expect((await boxyard(['cat', 'web:/root/file'])).stdout).toBe('content')
    await boxyard(['cp', '-', 'web:/root/typed'], { input: 'typed' })
    expect((await boxyard(['cp', 'web:/root/typed', '-'])).stdout).toBe('typed')
    await boxyard(['cp', 'web:/root/typed', 'back'])
    expect(readFileSync(join(directory, 'back'), 'utf8')).toBe('typed')
  })

  test('a directory goes in and out', async () => {
    mkdirSync(join(directory, 'tree/sub'), { recursive: true })
    writeFileSync(join(directory, 'tree/sub/leaf'), 'leaf')
    expect(await boxyard(['cp', 'tree', 'web:/root/tree'])).toMatchObject({ code: 0, stderr: '' })
    expect((await boxyard(['exec', 'web', 'cat', '/root/tree/sub/leaf'])).stdout).toBe('leaf')
    expect(await boxyard(['cp', 'web:/root/tree', 'copied'])).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(join(directory, 'copied/sub/leaf'))).toBe(true)
  })
})

import { execFileSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const lab = useSshLab(useSharedService())
/** Another deployment, which only records the requests that it receives. */
let other: { server: Server; url: string; seen: (string | undefined)[] } | null = null
let checkout = ''

beforeAll(async () => {
  const seen: (string | undefined)[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":"box_not_found","detail":"none"}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  other = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
  mkdirSync(lab.path('.config/boxyard'), { recursive: true })
  writeFileSync(
    lab.path('.config/boxyard/config.toml'),
    `current = "home"
[contexts.home]
url = "${lab.service().url}"
token = "${lab.service().adminToken}"
project = "demo"
[contexts.Other]
url = "${other.url}"
token = "token-of-other"
`,
    { mode: 0o600 },
  )
})

beforeEach(() => {
  checkout = mkdtempSync(lab.path('checkout-'))
  if (other !== null) other.seen.length = 0
})

afterAll(() => void other?.server.close())

/** Runs the CLI in the checkout, with the logins and an empty environment. */
async function boxyard(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return boxyardWith({}, ...args)
}

async function boxyardWith(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const line = ['env', '-C', checkout, process.execPath, lab.path('boxyard.cjs'), ...args]
  const none = { BOXYARD_URL: '', BOXYARD_TOKEN: '', BOXYARD_PROJECT: '' }
  const { code, stdout, stderr } = await lab.run('/usr/bin/env', line.slice(1), { env: { ...none, ...env } })
  return { code, stdout: stdout.toString(), stderr }
}

function write(text: string): void {
  writeFileSync(join(checkout, '.boxyard'), text)
}

describe('a checkout runs no code', () => {
  test.each([
    ['box = "-F./x"', ['ssh', '.', 'true'], 'must be 1–63'],
    ['box = "-oProxyCommand=touch${IFS}pwned"', ['ssh', '.', 'true'], 'must be 1–63'],
    ['box = "--help"', ['exec', '.', 'true'], 'must be 1–63'],
    ['box = "a b"', ['cp', '.:a', '.'], 'must be 1–63'],
    ['project = "-F./x"\nbox = "web"', ['ssh', '.', 'true'], 'must be 1–63'],
    ['project = ".."', ['ls'], 'must be 1–63'],
    ['project = "../../v1/projects/demo"', ['ls'], 'must be 1–63'],
    ['project = ""', ['ls'], 'must be 1–63'],
    ['project = 7', ['ls'], 'must be a string'],
    ['context = "constructor"', ['ls'], 'no context "constructor"'],
    ['context = "__proto__"', ['ls'], 'must be the name of a context'],
    ['context = "a\\nb"', ['ls'], 'must be the name of a context'],
    ['context = "-F./x"', ['ssh', 'web', 'true'], 'must be the name of a context'],
    ['project = [', ['ls'], '.boxyard: '],
  ])('by %j', async (text, args, reason) => {
    writeFileSync(join(checkout, 'x'), `Host *\n  ProxyCommand touch ${checkout}/pwned\n`)
    write(text)
    const { code, stderr } = await boxyard(...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason)])
    expect(existsSync(join(checkout, 'pwned'))).toBe(false)
    expect(other?.seen).toEqual([])
  })

  test.each([
    ['BOXYARD_BOX', '-F./x', ['ssh', '.']],
    ['BOXYARD_PROJECT', '..', ['ls']],
    ['BOXYARD_CONTEXT', 'constructor', ['ls']],
  ])('by %s=%s in the environment', async (variable, value, args) => {
    const { code, stderr } = await boxyardWith({ [variable]: value }, ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(value)])
  })

  test.each([
    [['ssh', '--', '-F./x', 'true'], '<box>'],
    [['info', '..'], '<box>'],
    [['--project', '..', 'ls'], '--project'],
    [['--context', '__proto__', 'ls'], '--context'],
    [['volume', 'info', '..'], 'name'],
  ])('by the arguments %j', async (args, place) => {
    const { code, stderr } = await boxyard(...args)
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(place)])
  })

  test('by a host name that a shell would read, given to OpenSSH by a tool such as git', async () => {
    for (const host of ["x';touch${IFS}pwned;'.boxyard", 'x`touch${IFS}pwned`.boxyard', 'x$(touch${IFS}pwned).boxyard'])
      await lab.run('/usr/bin/env', ['-C', checkout, 'ssh', ...lab.config(), '-o', 'ConnectTimeout=1', '--', host])
    expect(existsSync(join(checkout, 'pwned'))).toBe(false)
    expect(readFileSync(lab.path('.config/boxyard/ssh/config'), 'utf8')).toContain("ssh-proxy -- '%h'")
  })
})

describe('what is no file of the user’s', () => {
  test('is refused in words and never waited for: a FIFO, a directory, a large file', async () => {
    execFileSync('mkfifo', [join(checkout, '.boxyard')])
    expect(await boxyard('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a regular file') })
    rmSync(join(checkout, '.boxyard'))
    mkdirSync(join(checkout, '.boxyard'))
    expect(await boxyard('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a regular file') })
    rmSync(join(checkout, '.boxyard'), { recursive: true })
    write(`#${'x'.repeat(70_000)}`)
    expect(await boxyard('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('The limit is 65536') })
    rmSync(join(checkout, '.boxyard'))
    execFileSync('mkfifo', [join(checkout, '.boxyardignore')])
    expect(await boxyard('sync', '.', 'web:srv')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not a regular file'),
    })
  })

  test('is ignored, and said to be: a file of another user, or a link to one', async () => {
    write('box = "elsewhere"\ncontext = "Other"\n')
    chownSync(join(checkout, '.boxyard'), 12_345, 12_345)
    const ignored = { code: 0, stderr: expect.stringMatching(/ignored .*\.boxyard: another user owns it/) }
    expect(await boxyard('ls')).toMatchObject(ignored)
    expect(await boxyardWith({ SUDO_UID: '12345', BOXYARD_PROJECT: 'demo' }, 'info', '.')).toMatchObject({ code: 1 })
    expect(other?.seen[0]).toContain('/boxes/elsewhere')
    mkdirSync(join(checkout, 'below'))
    symlinkSync('../.boxyard', join(checkout, 'below/.boxyard'))
    checkout = join(checkout, 'below')
    expect(await boxyard('ls')).toMatchObject(ignored)
  })

  test('is not written through: a link in the place of the file', async () => {
    symlinkSync(join(checkout, 'target'), join(checkout, '.boxyard'))
    expect(await boxyard('use', 'demo', '--here')).toMatchObject({ code: 0 })
    expect(existsSync(join(checkout, 'target'))).toBe(false)
    expect(lstatSync(join(checkout, '.boxyard')).isFile()).toBe(true)
  })
})

describe('a token', () => {
  test('goes only to the address that it came with', async () => {
    write('context = "Other"\nproject = "demo"\n')
    const refused = { code: 2, stderr: expect.stringContaining('BOXYARD_TOKEN is set without BOXYARD_URL') }
    expect(await boxyardWith({ BOXYARD_TOKEN: 'secret' }, 'ls')).toMatchObject(refused)
    expect(await boxyardWith({ BOXYARD_TOKEN: 'secret', BOXYARD_CONTEXT: 'Other' }, 'ls')).toMatchObject(refused)
    rmSync(join(checkout, '.boxyard'))
    expect(await boxyardWith({ BOXYARD_TOKEN: 'secret' }, 'ls')).toMatchObject(refused)
    expect(other?.seen).toEqual([])
    await boxyardWith({ BOXYARD_URL: other?.url ?? '' }, 'info', 'web', '-p', 'demo')
    await boxyardWith({ BOXYARD_URL: other?.url ?? '', BOXYARD_TOKEN: 'given' }, 'info', 'web', '-p', 'demo')
    expect(other?.seen).toEqual([
      'GET /v1/projects/demo/boxes/web undefined',
      'GET /v1/projects/demo/boxes/web Bearer given',
    ])
  })

  test('of the environment stays there where a flag names a login, which has its own', async () => {
    await boxyardWith(
      { BOXYARD_URL: 'http://127.0.0.1:1', BOXYARD_TOKEN: 'secret' },
      ...['--context', 'Other', '-p', 'demo', 'info', 'web'],
    )
    expect(other?.seen).toEqual(['GET /v1/projects/demo/boxes/web Bearer token-of-other'])
  })

  test('does not keep commands of logins from work', async () => {
    write('project = [')
    for (const args of [
      ['context', 'ls'],
      ['context', 'use', 'home'],
    ])
      expect(await boxyardWith({ BOXYARD_TOKEN: 'secret' }, ...args)).toMatchObject({ code: 0 })
  })
})

describe('what a file chose is said', () => {
  test('of a login always, of a project where something may change', async () => {
    write('context = "Other"\nproject = "demo"\n')
    const { stderr } = await boxyard('rm', 'web')
    expect(stderr).toMatch(/using the context "Other" \(http:.*\) from .*\.boxyard/)
    expect(stderr).toMatch(/using the project "demo" from .*\.boxyard/)
    const read = (await boxyard('info', 'web')).stderr
    expect(read).toContain('using the context "Other"')
    expect(read).not.toContain('using the project')
    write('project = "demo"\nbox = "web"\n')
    expect((await boxyard('ls')).stderr).toBe('')
    expect((await boxyard('exec', '.', 'true')).stderr).toMatch(
      /^boxyard: using the project "demo" from .*\.boxyard\.\n$/,
    )
  })

  test('not of what the user named', async () => {
    write('context = "Other"\nproject = "none"\n')
    expect(await boxyard('--context', 'home', '-p', 'demo', 'exec', 'web', 'true')).toEqual({
      ...{ code: 0, stdout: '', stderr: '' },
    })
  })
})

describe('a host name of SSH', () => {
  const ssh = async (
    env: Record<string, string>,
    ...args: string[]
  ): Promise<{ code: number | null; stderr: string }> =>
    lab.run('/usr/bin/env', ['-C', checkout, 'ssh', ...lab.config(), ...args], {
      env: { BOXYARD_URL: '', BOXYARD_TOKEN: '', BOXYARD_PROJECT: '', ...env },
    })

  test('leads to no other deployment because a file says so', async () => {
    expect(await ssh({}, 'web.demo.boxyard', 'true')).toMatchObject({ code: 0, stderr: '' })
    write('context = "Other"\n')
    const { code, stderr } = await ssh({}, 'web.demo.boxyard', 'true')
    expect([code, stderr]).toEqual([255, expect.stringContaining(`web.demo.boxyard is a box of ${lab.service().url}`)])
    expect(stderr).toContain('ssh web.demo.Other.boxyard')
    expect(other?.seen).toEqual([])
    // The full name is the user's own choice of that deployment.
    await ssh({}, 'web.demo.Other.boxyard', 'true')
    expect(other?.seen[0]).toContain('Bearer token-of-other')
  })

  test('leads to another without a false alarm where the user chose so, who is told', async () => {
    const aliased = {
      BOXYARD_URL: lab.service().url.replace('127.0.0.1', 'localhost'),
      BOXYARD_TOKEN: lab.service().adminToken,
    }
    expect(await ssh({}, 'web.demo.boxyard', 'true')).toMatchObject({ code: 0 })
    const { code, stderr } = await ssh(aliased, 'web.demo.boxyard', 'true')
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^boxyard: .* is now a box of http:\/\/localhost:\d+\. Before, it was/),
    ])
    expect(await ssh(aliased, 'web.demo.boxyard', 'true')).toMatchObject({ code: 0, stderr: '' })
  })

  test('of ssh to other hosts is not touched by the configuration', async () => {
    const { code, stderr, stdout } = await lab.run('ssh', [...lab.config(), '-T', '-G', 'other.example'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.toString()).not.toMatch(/proxycommand|boxyard/)
  })
})

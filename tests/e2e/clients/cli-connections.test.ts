import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { HOST_WORDS } from '../../../cli/host-words.ts'
import { ROOT } from '../../../infra/commands.ts'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())

beforeAll(async () => {
  expect(await cli.run(['volume', 'create', 'data'])).toMatchObject({ code: 0 })
})

/** The configuration that `use` writes. */
const stored = (): string => readFileSync(join(cli.directory(), '.config/boxyard/config.toml'), 'utf8')

describe('BOXYARD_URL', () => {
  test.each(['', 'localhost', '/ '])('is understood without a scheme, and with %j', async (what) => {
    const { port } = new URL(cli.service().url)
    const host = what === 'localhost' ? what : '127.0.0.1'
    const env = { BOXYARD_URL: `${host}:${port}${what === host ? '' : what}` }
    expect(await cli.run(['volume', 'ls', '-o', 'name'], { env })).toEqual({ code: 0, stdout: 'data\n', stderr: '' })
  })

  test('that is no origin is refused', async () => {
    const { code, stderr } = await cli.run(['ls'], { env: { BOXYARD_URL: `${cli.service().url}/v1` } })
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^boxyard: BOXYARD_URL: has something after the host/)])
  })
})

describe('BOXYARD_TOKEN', () => {
  test('may have white space around it', async () => {
    const env = { BOXYARD_TOKEN: `${cli.service().adminToken}\n` }
    expect(await cli.run(['volume', 'ls', '-o', 'name'], { env })).toMatchObject({ code: 0, stdout: 'data\n' })
    expect(await cli.run(['api', 'GET', '/v1/me'], { env })).toMatchObject({ code: 0 })
  })

  test('of only white space is refused as empty', async () => {
    const { code, stderr } = await cli.run(['ls'], { env: { BOXYARD_TOKEN: '\n' } })
    expect([code, stderr]).toEqual([1, expect.stringContaining('The token is empty.')])
  })
})

describe('use of a project', () => {
  const NEW = 'boxyard create BOX'
  const tokenOf = async (permissions: readonly string[]): Promise<Record<string, string>> => {
    const body = { name: permissions.join('-'), projects: ['demo', 'fresh'], permissions }
    return { BOXYARD_TOKEN: (await cli.client.post('/v1/tokens', body)).body.token }
  }

  test('that has nothing yet says so', async () => {
    const { code, stdout, stderr } = await cli.run(['use', 'neverexisted'])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toBe(`Project "neverexisted" has nothing yet. To start it: ${NEW}\n`)
    expect(stored()).toContain('project = "neverexisted"')
    expect((await cli.run(['use', 'fresh'], { env: await tokenOf(['read']) })).stderr).toContain(NEW)
    // A name that only begins another's.
    expect((await cli.run(['use', 'dem'])).stderr).toContain('Project "dem" has nothing yet.')
  })

  test('that has something says nothing', async () => {
    expect(await cli.run(['use', 'demo'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(stored()).toContain('project = "demo"')
    expect(await cli.run(['use', '-'])).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('that the token does not allow is refused, and changes nothing', async () => {
    await cli.run(['use', 'demo'])
    const cwd = join(cli.directory(), 'below')
    mkdirSync(cwd)
    for (const more of [[], ['--here']]) {
      const { code, stderr } = await cli.run(['use', 'secret', ...more], { cwd, env: await tokenOf(['exec']) })
      const words = 'boxyard: <project>: your token does not allow "secret". It allows demo, fresh.\n'
      expect([code, stderr]).toEqual([2, words])
    }
    expect(stored()).toContain('project = "demo"')
    expect(() => readFileSync(join(cwd, '.boxyard'))).toThrow('ENOENT')
  })

  test('says nothing if the token may not ask, and if no service answers', async () => {
    // `-` would list all, and a token without a permission to read lists none.
    const env = await tokenOf(['exec'])
    expect(await cli.run(['use', 'fresh'], { env })).toMatchObject({ code: 0, stderr: '' })
    for (const url of ['http://127.0.0.1:9', 'nonsense://'])
      expect(await cli.run(['use', 'other'], { env: { BOXYARD_URL: url } })).toEqual({
        code: 0,
        stdout: '',
        stderr: '',
      })
  })

  test('does not ask the service that a .boxyard file names', async () => {
    const cwd = join(cli.directory(), 'checkout')
    mkdirSync(cwd)
    writeFileSync(join(cwd, '.boxyard'), 'context = "here"\n')
    await cli.run(['login', cli.service().url, '--name', 'here'], { input: cli.service().adminToken })
    await cli.run(['login', cli.service().url, '--name', 'there'], { input: cli.service().adminToken })
    const env = { BOXYARD_URL: '', BOXYARD_TOKEN: '' }
    expect(await cli.run(['use', 'neverexisted'], { cwd, env })).toEqual({ code: 0, stdout: '', stderr: '' })
    const here = await cli.run(['use', 'neverexisted', '--here'], { cwd, env })
    expect(here).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})

describe('a service of this machine that does not run', () => {
  const HINT =
    'Is Boxyard running on this machine? Start it with npm run up in a checkout. With the package, see systemctl status boxyard-agent.\n'

  test.each(['127.0.0.1', 'localhost'])('at %s is reported with the way to start it', async (host) => {
    const closed = createServer().listen(0)
    const { port } = closed.address() as { port: number }
    closed.close()
    const env = { BOXYARD_URL: `http://${host}:${port}` }
    for (const args of [['ls'], ['exec', 'web', 'true']]) {
      const { code, stderr } = await cli.run(args, { env })
      expect([code, stderr.startsWith('boxyard: '), stderr.endsWith(`\n${HINT}`)]).toEqual([1, true, true])
    }
  })

  test('is not suspected behind another name', async () => {
    const { code, stderr } = await cli.run(['ls'], { env: { BOXYARD_URL: 'http://nowhere.invalid' } })
    expect([code, stderr]).toEqual([1, expect.not.stringContaining('npm run up')])
  })
})

test.each([...HOST_WORDS])('%s of the host names the script of a checkout: npm run %s', async (word, script) => {
  const { code, stderr } = await cli.run([word])
  expect([code, stderr]).toEqual([2, expect.stringContaining(`or in a checkout: npm run ${script}.`)])
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  expect(Object.keys(scripts)).toContain(script.split(' ')[0])
})

import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

test('boxes that are there are deleted, though another is not, and each that is not is told', async () => {
  await cli.run(['create', 'one'])
  await cli.run(['create', 'two'])
  const { code, stderr } = await cli.run(['rm', 'none', 'one', 'nobody', 'two'])
  expect([code, stderr.match(/"(none|nobody)"/g)]).toEqual([1, ['"none"', '"nobody"']])
  expect((await cli.run(['ls', '-o', 'name'])).stdout).toBe('web\n')
})

describe('a command', () => {
  test('may be told apart by --, which is not a part of it', async () => {
    expect(await cli.run(['exec', 'web', '--', 'echo', '--', 'a'])).toMatchObject({ code: 0, stdout: '-- a\n' })
    expect(await cli.run(['service', 'put', 'web', 'kept', '--', 'sleep', '600'])).toMatchObject({ code: 0 })
    expect((await cli.run(['service', 'info', 'web', 'kept', '-o', 'json'])).stdout).toContain('"sleep"')
  })

  test('is no flag that stands behind the box', async () => {
    const { code, stderr } = await cli.run(['exec', 'web', '--cwd', '/', 'pwd'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--cwd: put flags before the box')])
  })

  test('in a terminal needs one, and a console ends with its input where that is none', async () => {
    const refused = 'boxyard: -t: needs a terminal as stdin. Without a terminal, use only -i, which forwards stdin.\n'
    for (const flags of [['-t'], ['-it']])
      expect(await cli.run(['exec', ...flags, 'web', 'sh'])).toEqual({ code: 2, stdout: '', stderr: refused })
    expect((await cli.run(['console', 'web', '--session', 'short'])).code).toBe(0)
  })
})

describe('without a project', () => {
  const NONE = { BOXYARD_PROJECT: '' }
  const withToken = async (projects: readonly string[]): Promise<{ env: Record<string, string> }> => {
    const body = { name: `of-${projects.join('-')}`, projects, permissions: ['read'] }
    const { token } = (await cli.client.post('/v1/tokens', body)).body
    return { env: { ...NONE, BOXYARD_TOKEN: token } }
  }

  test('the only one of the token is used', async () => {
    expect(await cli.run(['ls', '-o', 'name'], await withToken(['demo']))).toMatchObject({ code: 0, stdout: 'web\n' })
  })

  test('the error names those of the token, and none for all', async () => {
    const several = await cli.run(['ls'], await withToken(['demo', 'other']))
    const words =
      'No project is selected. Your token allows demo, other. Run boxyard use PROJECT, or add --project PROJECT.'
    expect(several).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(words) })
    const all = await cli.run(['ls'], { env: NONE })
    expect(all).toMatchObject({ code: 2, stderr: expect.stringContaining('No project is selected. Run boxyard use') })
  })

  test('commands that need none work', async () => {
    expect(await cli.run(['ls', '--all', '-o', 'name'], { env: NONE })).toMatchObject({ code: 0 })
  })
})

test('what has happened is told to the end, in several pages', async () => {
  for (let i = 0; i < 120; i++) await cli.client.put('/v1/projects/demo/boxes/web', { tags: { round: String(i) } })
  const { events, has_more: hasMore } = JSON.parse((await cli.run(['events', '-o', 'json'])).stdout)
  expect([events.length > 100, hasMore]).toEqual([true, false])
  expect(events.at(-1)).toMatchObject({ type: 'box.updated' })
})

test.each([
  ['use', 'no such', /such as my-app/],
  ['use', 'a--b', /such as my-app/],
  ['wait', 'bogus', /must be one of pending, running, stopped, unknown, not "bogus"/],
] as const)('%s %s is refused at once', async (command, word, words) => {
  const { code, stderr } = await cli.run(command === 'wait' ? [command, 'web', word] : [command, word])
  expect([code, stderr]).toEqual([2, expect.stringMatching(words)])
})

test('a wait is given up after its time', async () => {
  const { code, stderr } = await cli.run(['wait', 'web', 'stopped', '--timeout', '0.2'])
  expect([code, stderr]).toEqual([1, 'boxyard: web was not stopped within 0.2 s.\n'])
})

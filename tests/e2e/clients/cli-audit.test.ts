import { beforeAll, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
const run = (line: string) => cli.run(line.split(' '))
const json = async (line: string): Promise<any> => JSON.parse((await run(`${line} -o json`)).stdout)

beforeAll(async () => {
  expect(await run('create web')).toMatchObject({ code: 0 })
})

test('the audit log has the command of each exec and console, but no variables and no input', async () => {
  await cli.run(['exec', '--env', 'KEY=hunter2', 'web', '--', 'echo', 'in a socket'])
  await cli.run(['exec', 'web', '--', 'true', 'x'.repeat(20_000)])
  await cli.client.shell('demo', 'web', 'echo by request')
  await cli.run(['console', 'web', '--session', 'audited'], { input: 'echo hunter2; exit\n' })
  const entries = async (operation: string): Promise<any[]> => (await json(`audit --operation ${operation}`)).entries
  expect((await entries('createExec'))[0]).toMatchObject({ command: ['/bin/sh', '-c', 'echo by request'] })
  const streams = await entries('streamExec')
  expect(streams.map(({ command }) => command.slice(0, 2))).toContainEqual(['echo', 'in a socket'])
  const cut = streams.find(({ command_truncated: isCut }) => isCut)
  expect([cut.status, cut.command[0], cut.command[1].length]).toEqual([101, 'true', 1019])
  expect(streams.filter(({ request_id: id }) => id === cut.request_id)).toHaveLength(1)
  expect((await entries('openConsole'))[0].command.slice(0, 2)).toEqual(['/bin/sh', '-c'])
  expect(JSON.stringify(await json('audit'))).not.toContain('hunter2')
  const { stdout } = await run('audit --operation createExec')
  expect(stdout.split('\n', 1)[0]).toMatch(/ COMMAND$/)
  expect(stdout).toContain('/bin/sh -c echo by request')
})

test('the audit log says who did what to which target, of one project if asked', async () => {
  for (const project of ['watched', 'demo']) await cli.run(['volume', 'create', 'audited', '-p', project])
  const rowsOf = async (...flags: string[]): Promise<string[]> =>
    (await cli.run(['audit', '--operation', 'createVolume', ...flags])).stdout.trimEnd().split('\n')
  const [head, ...rows] = await rowsOf('-p', 'watched')
  expect(head).toMatch(/^TS +ACTOR NAME +OPERATION +STATUS +CODE +TARGET +COMMAND$/)
  expect(rows).toEqual([expect.stringMatching(/ admin +createVolume +201 +- +\/v1\/projects\/watched\/data +-$/)])
  expect((await rowsOf()).some((row) => /\/v1\/projects\/demo\/data +-$/.test(row))).toBe(true)
})

import { setTimeout } from 'node:timers/promises'
import { beforeAll, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
const run = (line: string) => cli.run(line.split(' '))

beforeAll(async () => {
  expect(await run('create web')).toMatchObject({ code: 0 })
  expect(await run('volume create db')).toMatchObject({ code: 0 })
})

test('to list snapshots never takes one', async () => {
  const lines = ['snapshots web', 'snapshots lst web', 'snapshots --comment x web', '-pdemo snapshots web good']
  for (const line of [...lines, 'volume snapshots db', 'volume snapshots lst db'])
    expect([line, await run(line)]).toEqual([line, expect.objectContaining({ code: 2, stdout: '' })])
  expect((await run('volume snapshot ls db -oname')).stdout).toBe('')
  expect(await run('snapshot --output=name ls web')).toMatchObject({ code: 0, stdout: '' })
  expect(await run('-pdemo snapshot web old')).toMatchObject({ code: 0 })
  expect((await run('snapshots ls web -oname')).stdout).toBe('old\n')
  expect((await run('--project=demo -oname inspect web')).stdout).toBe('web\n')
})

test('a number that JSON cannot tell, or that would be rounded to 0, never becomes no limit', async () => {
  for (const value of ['Infinity', '1e999', '1e-999', '400k', '1b'])
    expect([value, await run(`update web --ram-mb ${value}`)]).toEqual([value, expect.objectContaining({ code: 2 })])
  for (const line of ['update web --cpus Infinity', 'set-quota --boxes 1e999', 'set-quota --ram-mb Infinity'])
    expect([line, await run(line)]).toEqual([line, expect.objectContaining({ code: 2, stdout: '' })])
})

test('a long time between two looks is waited for', async () => {
  const watching = cli.startInTerminal(['top', '--every', '30d'])
  await setTimeout(3000)
  expect(watching.shown()).not.toMatch(/NAME/)
  watching.type('\x03')
  expect((await watching.ended).code).toBe(130)
  expect(await run('wait web stopped --timeout 0.2001')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('was not stopped within 0.2001 s'),
  })
})

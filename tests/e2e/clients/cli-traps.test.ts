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

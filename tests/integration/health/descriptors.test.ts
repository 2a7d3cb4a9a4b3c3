import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { runOk } from '../../../agent/lib/run.ts'
import { ROOT } from '../../../infra/commands.ts'

test('without descriptors libnftables is refused, and does not end the process; with a reserve it works', async () => {
  const program = join(ROOT, 'tests/fixtures/no-descriptors.ts')
  const { stdout } = await runOk('sh', ['-c', 'ulimit -n 128; exec "$0" "$1"', process.execPath, program])
  const refused = 'nftables: no socket: EMFILE: socket'
  expect(JSON.parse(stdout)).toEqual({
    bare: [refused, refused, 'EMFILE'],
    reserved: ['done', 'done', 'EMFILE'],
  })
})

import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { runOk } from '../../../agent/lib/run.ts'
import { ROOT } from '../../../infra/commands.ts'

test('the pipes of a command are opened all or none', async () => {
  const program = join(ROOT, 'tests/fixtures/few-descriptors.ts')
  const { stdout } = await runOk('sh', ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, program])
  expect(JSON.parse(stdout)).toEqual({ code: 'EMFILE', left: 3 })
})

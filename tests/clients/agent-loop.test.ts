import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { makeAgentTools, readLoop, testLoop } from '../helpers/clients/agent-loop.ts'
import { generatorsDirectory, openWorkbench, type Workbench } from '../helpers/clients/generators.ts'
import { useOwnService } from '../helpers/own-service.ts'

const used = useOwnService()
const SDK = join(ROOT, 'sdk/python')
let bench: Workbench

beforeAll(async () => {
  bench = openWorkbench()
  symlinkSync(join(SDK, 'src/boxyard'), join(bench.directory, 'boxyard'))
  bench.write('agent.py', readLoop('agent.py').text)
  await makeAgentTools(used)
})
afterAll(() => bench.close())

describe('the loop in Python', () => {
  test('is typed, formatted, and without what the linter of the SDK finds', async () => {
    const settings = ['--config-file', join(SDK, 'pyproject.toml'), '--cache-dir', join(bench.directory, 'cache')]
    expect(await bench.python('-m', 'mypy', ...settings, 'agent.py')).toMatch(/^Success: no issues found/)
    const config = ['--no-cache', '--config', join(SDK, 'pyproject.toml'), 'agent.py']
    expect(await bench.python('-m', 'ruff', 'check', ...config)).toContain('All checks passed!')
    expect(await bench.python('-m', 'ruff', 'format', '--check', ...config)).toContain('already formatted')
  })

  testLoop(used, {
    file: 'agent.py',
    save: (text) => {
      bench.write('agent.py', text)
      return [join(generatorsDirectory(), 'python/bin/python'), join(bench.directory, 'agent.py')]
    },
    env: () => ({
      ...{ PATH: process.env['PATH'], HOME: bench.directory, PYTHONPATH: bench.directory },
      PYTHONDONTWRITEBYTECODE: '1',
    }),
  })
})

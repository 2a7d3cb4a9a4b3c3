import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { generatePythonBase, readPythonBase } from '../../infra/sdk/python.ts'
import { type AgentSwitch, openAgentSwitch } from '../helpers/clients/agent-switch.ts'
import { generatorsDirectory, openWorkbench, type Workbench } from '../helpers/clients/generators.ts'
import { ORIGINS, REFUSED_ORIGINS } from '../helpers/clients/origins.ts'
import { openPlainFront, type PlainFront } from '../helpers/clients/plain-front.ts'
import { useOwnService } from '../helpers/own-service.ts'

const { service } = useOwnService()
const SDK = join(ROOT, 'sdk/python')
let bench: Workbench
let agent: AgentSwitch
let plain: PlainFront

beforeAll(async () => {
  bench = openWorkbench()
  agent = await openAgentSwitch(service())
  plain = await openPlainFront(service().url)
  const { url, adminToken: token } = service()
  bench.write('service.json', JSON.stringify({ url, token, control: agent.url, plain: plain.url }))
  bench.write('origins.json', JSON.stringify({ accepted: ORIGINS, refused: REFUSED_ORIGINS }))
  symlinkSync(join(SDK, 'src/boxyard'), join(bench.directory, 'boxyard'))
  // Copies the tests, so that Python writes nothing next to the originals.
  mkdirSync(join(bench.directory, 'tests'))
  cpSync(join(import.meta.dirname, 'python'), join(bench.directory, 'tests'), { recursive: true })
})
afterAll(() => {
  agent.close()
  plain.close()
  bench.close()
})

describe('the Python SDK', () => {
  test('is made of the OpenAPI document as it is', () => {
    expect(readPythonBase()).toEqual(generatePythonBase(generatorsDirectory()))
  })

  test('is typed, and so are its tests', async () => {
    const settings = ['--config-file', join(SDK, 'pyproject.toml'), '--cache-dir', join(bench.directory, 'cache')]
    expect(await bench.python('-m', 'mypy', ...settings, '-p', 'boxyard')).toMatch(/^Success: no issues found/)
    expect(await bench.python('-m', 'mypy', ...settings, 'tests')).toMatch(/^Success: no issues found/)
  })

  test('is formatted, and without what its linter finds', async () => {
    const config = ['--no-cache', '--config', join(SDK, 'pyproject.toml'), join(SDK, 'src'), 'tests']
    expect(await bench.python('-m', 'ruff', 'check', ...config)).toContain('All checks passed!')
    expect(await bench.python('-m', 'ruff', 'format', '--check', ...config)).toContain('already formatted')
  })

  test.each(['settings', 'operations', 'boxes', 'commands', 'cancel', 'transfers', 'newer', 'hostile'])(
    'passes its tests of %s',
    async (name) => {
      const said = await bench.python('-m', 'pytest', '-q', '-p', 'no:cacheprovider', `tests/test_${name}.py`)
      expect(said).toMatch(/\d+ passed in /)
      expect(said).not.toMatch(/skipped|xfailed|warning/)
    },
  )

  test('is packed whole, for installers', async () => {
    const options = ['--no-build-isolation', '--no-deps', '--no-index', '--quiet', '--disable-pip-version-check']
    await bench.python('-m', 'pip', 'wheel', ...options, '--wheel-dir', 'wheels', SDK)
    const [wheel = ''] = readdirSync(join(bench.directory, 'wheels'))
    expect(wheel).toMatch(/^boxyard-[\d.]+-py3-none-any\.whl$/)
    // -I keeps the working directory out of the path.
    const program =
      "import sys; sys.path.insert(0, sys.argv[1]); import boxyard; print(boxyard.__file__, boxyard.Boxyard('http://a'))"
    expect(await bench.python('-I', '-c', program, `wheels/${wheel}`)).toContain(`${wheel}/boxyard/__init__.py`)
    const names = await bench.python('-m', 'zipfile', '--list', `wheels/${wheel}`)
    expect(names).toContain('boxyard/py.typed')
  })

  test('does what its README shows', async () => {
    const readme = readFileSync(join(SDK, 'README.md'), 'utf8')
    const programs = [...readme.matchAll(/^```python\n([^]*?)^```$/gm)].map(([, text = '']) => text)
    expect(programs).toHaveLength(2)
    for (const [index, text] of programs.entries()) {
      const { url, adminToken } = service()
      bench.write(`program-${index}.py`, text.replace('http://127.0.0.1:8080', url).replace('"…"', `"${adminToken}"`))
      expect(await bench.python(`program-${index}.py`)).toBe('hello\n4\n')
    }
  })
})

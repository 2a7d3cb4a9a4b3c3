import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { OPERATIONS } from '../../shared/routes.ts'
import { openWorkbench, type Workbench } from '../helpers/clients/generators.ts'
import { useSharedService } from '../helpers/own-service.ts'
import { drawsAll, pickSample } from '../helpers/sample.ts'

const { service, client } = useSharedService()
const PROJECT = 'thrown-away'
let bench: Workbench

/** Requests use an existing project and box, and wait for nothing. The service refuses bodies over the size limit before it parses them. */
const CONFIG = `
hooks = "hooks.py"
[parameters]
"path.project" = "${PROJECT}"
"path.name" = "web"
"query.wait_seconds" = 0

[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 429, "5xx"]
`
/** All operations except those that schemathesis cannot open. */
const EXAMINED = OPERATIONS.filter(({ transport }) => transport !== 'websocket').map(({ id }) => id)
/**
 * Checks for each operation: examples, and either every case its schemas distinguish or a random input. Both stay the same for the same
 * document. A draw decides which half of the operations gets which. With TEST_DRAW=all, each gets both.
 */
const HALVES = [0, 1].map((rest) => EXAMINED.filter((_, index) => index % 2 === rest))
const [covered = []] = pickSample(HALVES, 1)
const EXAMINATIONS: readonly (readonly [string, readonly string[]])[] = drawsAll()
  ? [['examples,coverage,fuzzing', EXAMINED]]
  : [
      ['examples,coverage', covered],
      ['examples,fuzzing', EXAMINED.filter((id) => !covered.includes(id))],
    ]
const ARGUMENTS = [
  ...['--max-examples', '1', '--generation-deterministic', '--no-shrink'],
  // The hooks replace positive_data_acceptance with a check that calls it and knows which refusals are right.
  ...['--checks', 'all', '--exclude-checks', 'positive_data_acceptance'],
  ...['--warnings', 'off', '--continue-on-failure'],
]

beforeAll(async () => {
  bench = openWorkbench()
  bench.write('schemathesis.toml', CONFIG)
  bench.write('hooks.py', readFileSync(join(import.meta.dirname, 'schemathesis-hooks.py'), 'utf8'))
  bench.write('openapi.json', JSON.stringify((await client.get('/openapi.json')).body))
  await client.post(`/v1/projects/${PROJECT}/boxes`, { name: 'web', config: { ram_mb: 64 } })
  await client.post(`/v1/projects/${PROJECT}/data`, { name: 'web', size_gb: 1 })
})
afterAll(() => bench.close())

describe('schemathesis', () => {
  test.each(EXAMINATIONS)(
    'by %s gets the answers and refusals that the OpenAPI document tells of',
    async (phases, ids) => {
      const permissions = ['read', 'write', 'exec']
      const { token } = (await client.post('/v1/tokens', { name: 'examiner', projects: [PROJECT], permissions })).body
      const at = ['openapi.json', '--url', service().url, '--header', `Authorization: Bearer ${token}`]
      const which = ['--phases', phases, '--include-operation-id-regex', `^(${ids.join('|')})$`]
      const said = await bench.python('-m', 'schemathesis.cli', 'run', ...at, ...which, ...ARGUMENTS)
      expect(said).toContain(`${ids.length} selected / ${OPERATIONS.length} total`)
      expect(said).toMatch(/No issues found/)
    },
  )
})

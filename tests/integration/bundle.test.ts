import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bundle } from '../../infra/build.ts'
import type { ServiceError } from '../../shared/errors.ts'
import { EXAMPLES } from '../../shared/examples.ts'
import { OPERATIONS, type OperationId } from '../../shared/routes.ts'
import { type Input, type RawInput, validateRequest } from '../../shared/validate.ts'

/** What the bundle has of the table: the same code, with schemas made lighter. */
interface Bundled {
  OPERATIONS: typeof OPERATIONS
  validateRequest: typeof validateRequest
}

const directory = mkdtempSync(join(tmpdir(), 'bundle-'))
let bundled: Bundled

beforeAll(async () => {
  const shared = join(import.meta.dirname, '../../shared')
  const entry = join(directory, 'entry.ts')
  writeFileSync(entry, `export * from '${shared}/routes.ts'\nexport * from '${shared}/validate.ts'\n`)
  await bundle(entry, join(directory, 'table.mjs'))
  bundled = (await import(join(directory, 'table.mjs'))) as Bundled
})

afterAll(() => rmSync(directory, { recursive: true }))

describe('the table in the bundle', () => {
  test('has the same operations, without their answers', () => {
    const facts = ({ id, method, path, permission, maxBodyBytes, status }: (typeof OPERATIONS)[number]) => ({
      id,
      method,
      path,
      permission,
      maxBodyBytes,
      status,
    })
    expect(bundled.OPERATIONS.map(facts)).toEqual(OPERATIONS.map(facts))
    expect(bundled.OPERATIONS.some((operation) => 'response' in operation)).toBe(false)
  })

  test.each(OPERATIONS.map((operation, index) => [operation.id, index] as const))(
    '%s takes and refuses what the source takes and refuses',
    (id, index) => {
      for (const raw of inputsFor(EXAMPLES[id as OperationId].body)) {
        const [ours, theirs] = [validateRequest, bundled.validateRequest].map((validate, i) =>
          outcome(() => {
            const operation = (i === 0 ? OPERATIONS : bundled.OPERATIONS)[index]
            if (!operation) throw new Error('no such operation')
            return validate(operation, raw)
          }),
        )
        expect(theirs).toEqual(ours)
      }
    },
  )
})

function outcome(run: () => Input): unknown {
  try {
    return run()
  } catch (error) {
    return { ...(error as ServiceError), message: (error as ServiceError).message }
  }
}

/** The example itself, then with each field missing or of each wrong kind, on good and bad paths and queries. */
function inputsFor(example: unknown): RawInput[] {
  const id = `tok_${'0'.repeat(26)}`
  const good = { project: 'demo', name: 'web', token: id, operation: id, exec: id }
  const paths: Record<string, string>[] = [{}, good, { project: '-' }, { project: 'demo' }]
  for (const key of Object.keys(good)) paths.push({ [key]: id }, { [key]: '../x' }, { [key]: 'web' })
  const queries = ['', 'wait_seconds=3', 'wait_seconds=26', 'max_results=0', 'tag=a&tag=b=c', 'status=lost', 'x=1']
  return [
    ...paths.map((params) => ({ params, query: new URLSearchParams(), body: example })),
    ...queries.map((query) => ({ params: good, query: new URLSearchParams(query), body: undefined })),
    ...bodiesFor(example).map((body) => ({ params: { project: 'demo' }, query: new URLSearchParams(), body })),
  ]
}

function bodiesFor(example: unknown): unknown[] {
  const odd = [undefined, null, 1e308, -1, '', 'x'.repeat(100), [], [1], {}, { a: 1 }, { BOX_A: 'b' }, { 'a b': 'c' }]
  const fields = typeof example === 'object' && example !== null ? Object.keys(example) : []
  const changed = [...fields, 'config', 'environment', 'tags', 'expires_in_seconds', 'unknown'].flatMap((field) =>
    odd.map((value) => ({ ...(example as object), [field]: value })),
  )
  return [...odd, ...changed]
}

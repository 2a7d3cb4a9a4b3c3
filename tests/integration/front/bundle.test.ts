import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bundle } from '../../../infra/build.ts'
import { lighten } from '../../../infra/bundle-plugins.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { EXAMPLES } from '../../../shared/examples/examples.ts'
import { OPERATIONS, type OperationId } from '../../../shared/routes.ts'
import { type Input, type RawInput, validateRequest } from '../../../shared/validate.ts'

/** Exports of the bundle that match the table's, with smaller schemas. */
interface Bundled {
  OPERATIONS: typeof OPERATIONS
  validateRequest: typeof validateRequest
}

const directory = mkdtempSync(join(tmpdir(), 'bundle-'))
let bundled: Bundled

beforeAll(async () => {
  const shared = join(import.meta.dirname, '../../../shared')
  const entry = join(directory, 'entry.ts')
  writeFileSync(entry, `export * from '${shared}/routes.ts'\nexport * from '${shared}/validate.ts'\n`)
  await bundle(entry, join(directory, 'table.mjs'))
  bundled = (await import(join(directory, 'table.mjs'))) as Bundled
})

afterAll(() => rmSync(directory, { recursive: true }))

describe('the table in the bundle', () => {
  test('has the same operations, without their answers', () => {
    const facts = (operation: (typeof OPERATIONS)[number]) => {
      const { id, method, path, permission, maxBodyBytes, status, transport, bytesIn, bytesOut } = operation
      return { id, method, path, permission, maxBodyBytes, status, transport, bytesIn, bytesOut }
    }
    expect(bundled.OPERATIONS.map(facts)).toEqual(OPERATIONS.map(facts))
    expect(bundled.OPERATIONS.some((operation) => 'response' in operation)).toBe(false)
  })

  test.each(OPERATIONS.map((operation, index) => [operation.id, index] as const))(
    '%s accepts and refuses the same requests as the source',
    (id, index) => {
      let taken = 0
      for (const raw of inputsFor(OPERATIONS[index]?.path ?? '', EXAMPLES[id as OperationId].body)) {
        const [ours, theirs] = [validateRequest, bundled.validateRequest].map((validate, i) =>
          outcome(() => {
            const operation = (i === 0 ? OPERATIONS : bundled.OPERATIONS)[index]
            if (!operation) throw new Error('no such operation')
            return validate(operation, raw)
          }),
        )
        expect(theirs).toEqual(ours)
        if (ours && 'input' in ours) taken++
      }
      expect(taken).toBeGreaterThan(0)
    },
  )
})

test('no schema is built by an import: also fields that several share wait for the first request', () => {
  const source =
    "const fields = { a: z.string().max(1).meta({ id: 'A' }), b: nameSchema.nullable(), c: new Set(), d: 3 }"
  const lazy = (schema: string) => ` /* @__PURE__ */ lazySchema(() =>  ${schema})`
  expect(lighten(source)).toBe(
    `const fields = { a:${lazy('z.string().max(1)')}, b:${lazy('nameSchema.nullable()')}, c: new Set(), d: 3 }`,
  )
})

function outcome(run: () => Input): { input: Input } | { refusal: object } {
  try {
    return { input: run() }
  } catch (error) {
    return { refusal: { ...(error as ServiceError), message: (error as ServiceError).message } }
  }
}

/** Returns the example, and copies with each field missing or of a wrong type, on good and bad paths and queries. */
function inputsFor(path: string, example: unknown): RawInput[] {
  const id = `tok_${'0'.repeat(26)}`
  const values = {
    project: 'demo',
    name: 'web',
    token: id,
    operation: id,
    exec: id,
    session: 'main',
    base: 'web',
    snapshot: 'v0',
    backup: id,
    service: 'web',
    code: 'box_not_found',
    port: '5432',
  }
  const good = Object.fromEntries(Object.entries(values).filter(([key]) => path.includes(`{${key}}`)))
  const paths: Record<string, string>[] = [{}, good, { project: '-' }, { project: 'demo' }]
  for (const key of Object.keys(good)) paths.push({ [key]: id }, { [key]: '../x' }, { [key]: 'web' })
  const queries = [
    ...['', 'wait_seconds=3', 'wait_seconds=26', 'max_results=0', 'tag=a&tag=b=c', 'status=lost', 'x=1', 'path=a'],
    ...['path=/a', 'path=/a%00', 'path=/a&path=/b', 'path_base64=%2Fw==', 'path_base64=.', 'mode=0644', 'mode=9'],
    ...['recursive=yes', 'recursive=1&depth=65', 'command=a', 'command=a&command=b&env=A=b&env=1', 'tty=true&cols=0'],
    ...['typing=two', 'session=A', 'shell=sh', 'timeout_seconds=0', 'user=a:b:c', 'parents=true'],
    ...['shared=1', 'shared=2', 'name=a', 'name=A'],
  ]
  return [
    ...paths.map((params) => ({ params, query: new URLSearchParams(), body: example })),
    ...queries.flatMap((query) =>
      [true, false].map((isBytes) => ({ params: good, query: new URLSearchParams(query), body: undefined, isBytes })),
    ),
    ...bodiesFor(example).map((body) => ({ params: good, query: new URLSearchParams(), body })),
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

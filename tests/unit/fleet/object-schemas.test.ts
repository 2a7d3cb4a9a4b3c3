import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { ROOT } from '../../../infra/commands.ts'
import { newId } from '../../../shared/ids.ts'
import { PERMISSIONS } from '../../../shared/schemas/access.ts'
import { boxConfigInputSchema } from '../../../shared/schemas/boxes.ts'
import { nameSchema } from '../../../shared/schemas/common.ts'

// The object kinds of a fleet must accept what the API accepts. Otherwise Kubernetes would refuse the object of a valid box.

describe('a name', () => {
  const names = [
    'a',
    '0',
    'web-1',
    'n'.repeat(63),
    'n'.repeat(64),
    '',
    '-a',
    'a-',
    'a--b',
    'A',
    'a.b',
    'a_b',
    'é',
    'a\n',
  ]
  test.each<[string, string, string]>([
    ['homes', 'Home', 'name'],
    ['homes', 'Home', 'project'],
    ['bases', 'Base', 'name'],
    ['projects', 'Project', 'project'],
    ['domains', 'Domain', 'service'],
  ])('in %s: the %s takes those of the API as its %s, and no other', (file, kind, field) => {
    const { minLength = 0, maxLength = 0, pattern = '' } = fieldOf(file, kind, field)
    const takes = (name: string): boolean =>
      name.length >= minLength && name.length <= maxLength && new RegExp(pattern).test(name)
    expect(names.map((name) => [name, takes(name)])).toEqual(
      names.map((name) => [name, nameSchema.safeParse(name).success]),
    )
  })
})

test('an id has the form of those that the API makes', () => {
  const forms = [
    [newId('box', Date.now()), fieldOf('homes', 'Home', 'uid')],
    [newId('vol', Date.now()), fieldOf('homes', 'Home', 'uid')],
    [newId('box', Date.now()), fieldOf('domains', 'Domain', 'uid')],
    [newId('tok', Date.now()), fieldOf('tokens', 'Token', 'id')],
    [newId('tok', Date.now()), fieldOf('tokens', 'Revocation', 'token')],
    [newId('bas', Date.now()), fieldOf('bases', 'Base', 'uid')],
  ] as const
  for (const [id, { pattern = '', maxLength }] of forms) {
    expect(id).toMatch(new RegExp(pattern))
    expect(id).toHaveLength(maxLength ?? 0)
  }
})

test('every permission fits', () => {
  const { items, maxItems = 0 } = fieldOf('tokens', 'Token', 'permissions')
  for (const permission of PERMISSIONS) expect(permission).toMatch(new RegExp(items?.pattern ?? ''))
  expect(maxItems).toBeGreaterThanOrEqual(PERMISSIONS.length)
})

test.each<[string, string, unknown[]]>([
  ['cpus', 'cpus', [0.04, 0.05, 1.5, 1024, 1025]],
  ['ramMb', 'ram_mb', [15, 16, 16_777_216, 16_777_217]],
  ['region', 'region', ['', 'r', 'r'.repeat(63), 'r'.repeat(64)]],
  ['storageGb', 'storage_gb', [-1, 0.5, 1_048_576, 1_048_577]],
])('the %s of a card takes what the API takes as %s of a box, and no more', (field, limit, values) => {
  const config = fieldOf('homes', 'Home', 'card').properties?.['config']?.properties
  const { minimum = 0, maximum = 0, minLength, maxLength } = config?.[field] ?? {}
  const isWithin = (value: unknown): boolean =>
    typeof value === 'string'
      ? value.length >= (minLength ?? 0) && value.length <= (maxLength ?? 0)
      : Number(value) >= minimum && Number(value) <= maximum
  expect(values.map((value) => [value, isWithin(value)])).toEqual(
    values.map((value) => [value, boxConfigInputSchema.safeParse({ [limit]: value }).success]),
  )
})

interface Field {
  type?: string
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  maxItems?: number
  items?: Field
  properties?: Record<string, Field>
}

/** Reads the schema of a `spec` field from a manifest. */
function fieldOf(file: string, kind: string, field: string): Field {
  const text = readFileSync(join(ROOT, `infra/kubernetes/fleet-${file}.yaml`), 'utf8')
  const definition = parseAllDocuments(text)
    .map((document) => document.toJS() as Definition)
    .find(({ spec }) => spec.names.kind === kind)
  const found = definition?.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec']?.properties?.[field]
  if (!found) throw new Error(`${kind} has no field ${field}.`)
  return found
}

interface Definition {
  spec: { names: { kind: string }; versions: { schema: { openAPIV3Schema: Field } }[] }
}

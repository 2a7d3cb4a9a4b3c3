import { expect, test } from '@jest/globals'
import type * as z from 'zod'
import type { Owner } from '../../../shared/operation.ts'
import { OPERATIONS } from '../../../shared/routes.ts'

/** The owner of a box or volume also owns all paths below it. Other paths have other owners. */
function ownerByPath(path: string): readonly Owner[] {
  if (path.startsWith('/v1/projects/{project}/boxes/{name}')) return ['box']
  if (path.startsWith('/v1/projects/{project}/data/{name}')) return ['volume']
  if (path.startsWith('/v1/projects/')) return ['project']
  return ['operation', 'fleet', 'any']
}

test.each(OPERATIONS.map((operation) => [operation.id, operation] as const))(
  'the owner of %s is that of its path',
  (_, operation) => {
    const { owner, path, params } = operation
    expect(ownerByPath(path)).toContain(owner)
    // Parameters that find the owner.
    const needed = {
      box: ['project', 'name'],
      volume: ['project', 'name'],
      operation: ['operation'],
      project: ['project'],
      fleet: [],
      any: [],
    }
    expect(Object.keys((params as z.ZodObject).shape)).toEqual(expect.arrayContaining(needed[owner]))
  },
)

test('what needs no token has no owner', () => {
  for (const { permission, owner } of OPERATIONS) if (permission === null) expect(owner).toBe('any')
})

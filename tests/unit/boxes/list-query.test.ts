import { describe, expect, test } from '@jest/globals'
import { boxListQuery } from '../../../shared/schemas/boxes.ts'

const tags = (count: number): string => Array.from({ length: count }, (_, index) => `t${index}`).join(',')

describe('the query of a list of boxes', () => {
  test.each([tags(64), [tags(32), tags(32)], `${tags(64)},,`, ''])('takes up to 64 tags: %j', (tag) => {
    expect(boxListQuery.parse({ tag }).tag).toEqual(tag)
  })

  test.each([tags(65), [tags(64), 'one-more']])('refuses more than 64 tags, with a pointer: %j', (tag) => {
    const { error } = boxListQuery.safeParse({ tag })
    expect(error?.issues).toEqual([expect.objectContaining({ path: ['tag'], message: 'at most 64 tags' })])
  })
})

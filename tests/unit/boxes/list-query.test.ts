import { describe, expect, test } from '@jest/globals'
import { boxListQuery } from '../../../shared/schemas/boxes.ts'
import { volumeListQuery } from '../../../shared/schemas/volumes.ts'

const tags = (count: number): string => Array.from({ length: count }, (_, index) => `t${index}`).join(',')

describe('the query of a list of boxes', () => {
  test.each([tags(64), [tags(32), tags(32)], `${tags(64)},,`, 'a=', 'a,b=c'])('takes up to 64 tags: %j', (tag) => {
    expect(boxListQuery.parse({ tag }).tag).toEqual(tag)
  })

  test.each([tags(65), [tags(64), 'one-more']])('refuses more than 64 tags, with a pointer: %j', (tag) => {
    const { error } = boxListQuery.safeParse({ tag })
    expect(error?.issues).toEqual([expect.objectContaining({ path: ['tag'], message: 'at most 64 tags' })])
  })

  test.each(['', ',', ',,', '=', '=x', 'a,=x', [''], ['a', ''], ['a', ',']].map((tag) => ({ tag })))(
    'refuses what names no tag, which would select all: %j',
    ({ tag }) => {
      for (const query of [boxListQuery, volumeListQuery]) {
        const issue = {
          path: ['tag'],
          message: expect.stringMatching(/^must name a tag, as .*; without the parameter/),
        }
        expect(query.safeParse({ tag }).error?.issues).toEqual([expect.objectContaining(issue)])
      }
    },
  )
})

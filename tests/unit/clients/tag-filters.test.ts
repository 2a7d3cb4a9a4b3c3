import { expect, test } from '@jest/globals'
import { tagFilterOf } from '../../../cli/verbs/tag-filters.ts'

test('tags that select are KEY or KEY=VALUE', () => {
  expect(tagFilterOf(undefined)).toBeNull()
  const tags = ['team', 'team=docs', 'team=', 'a=b=c', 'app.kubernetes.io/name=x']
  expect(tagFilterOf(tags)).toEqual(tags)
})

test.each([[['']], [[' ']], [[',']], [['=']], [['=x']], [['a,b']], [['a=1,']], [['team', '']]])(
  '%j names no tag, or more than one',
  (value) => {
    expect(() => tagFilterOf(value)).toThrow(/^--tag: must be (one )?KEY or KEY=VALUE, not "/)
  },
)

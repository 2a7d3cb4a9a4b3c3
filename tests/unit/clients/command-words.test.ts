import { describe, expect, test } from '@jest/globals'
import { inCommandWords } from '../../../cli/output/command-words.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'

const VERBS = allVerbs()
const inWords = (message: string, flags: Record<string, string> = {}): string =>
  inCommandWords(message, VERBS, (field) => flags[field] ?? field)

describe('a message of the API in the words of the command line', () => {
  test.each([
    ['Raise it by `PUT /v1/projects/{project}/quota`.', 'Raise it by boxyard set-quota.'],
    ['`GET …/data/{volume}` lists the boxes.', 'boxyard volume info lists the boxes.'],
    ['`GET /problems` lists all.', 'boxyard problems lists all.'],
    ['`GET /v1/config` shows the bounds.', 'boxyard limits shows the bounds.'],
  ])('names the command for a request: %s', (message, words) => {
    expect(inWords(message)).toBe(words)
  })

  test('keeps requests without a command', () => {
    const message = 'Use `PUT /v1/nothing/{like}/this` or `GET …/that`.'
    expect(inWords(message)).toBe(message)
  })

  test('names the flag for a field, if the command has one', () => {
    const message = 'Raise `storage_gb`, or ask for `recursive`.'
    expect(inWords(message, { recursive: '--recursive' })).toBe('Raise `storage_gb`, or ask for --recursive.')
  })
})

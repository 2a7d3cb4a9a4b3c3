import { expect, test } from '@jest/globals'
import { nameSchema } from '../../../shared/schemas/common.ts'
import { type Asked, NAME_PATTERN, refusalWords, type Wrongs } from '../../../web/src/ui/refusal-words.ts'

test.each<[Wrongs, Partial<Asked>, string]>([
  [{ valueMissing: true }, {}, 'This field is required.'],
  [{ valueMissing: true }, { type: 'file' }, 'Select a file.'],
  [{ valueMissing: true }, { type: 'select-one' }, 'Select an option.'],
  [{ badInput: true }, { type: 'number' }, 'It must be a number.'],
  [{ rangeUnderflow: true }, { min: '16' }, 'It must be at least 16.'],
  [{ rangeOverflow: true }, { max: '65535' }, 'It must be at most 65535.'],
  [{ stepMismatch: true }, { step: '1' }, 'It must be a whole number.'],
  [{ stepMismatch: true }, {}, 'It must be a whole number.'],
  [{ stepMismatch: true }, { step: '0.1' }, 'It must be in steps of 0.1.'],
  [{ patternMismatch: true }, { pattern: '/.*' }, 'It must be an absolute path, starting with /.'],
  [{ patternMismatch: true }, { pattern: 'x' }, 'This value does not have the required format.'],
])('%j of a field of %j', (wrongs, asked, words) =>
  expect(refusalWords(wrongs, { type: 'text', ...asked })).toBe(words),
)

test.each(['web', 'a', '9', 'a-b-c', 'x'.repeat(63), '', 'A', 'a--b', '-a', 'a-', 'a b', 'a_b', 'x'.repeat(64)])(
  'the name %j is taken by a form if it is by the contract, and refused in its words',
  (name) => {
    const { success, error } = nameSchema.safeParse(name)
    expect(new RegExp(`^(?:${NAME_PATTERN})$`, 'v').test(name)).toBe(success)
    const words = refusalWords({ patternMismatch: true }, { type: 'text', pattern: NAME_PATTERN })
    if (error) expect(words).toBe(`It ${error.issues[0]?.message}.`)
  },
)

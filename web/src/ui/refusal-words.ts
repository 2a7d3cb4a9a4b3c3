/** Pattern of names of boxes, volumes and the like. */
export const NAME_PATTERN = '(?=.{1,63}$)[a-z0-9]+(-[a-z0-9]+)*'

/** Pattern of answer statuses. */
export const STATUS_PATTERN = '[1-5][0-9][0-9]'

/** Letters of the longest name. */
export const NAME_MAX = 63

/** Faults that a browser finds in the value of a field. */
export type Wrongs = Readonly<
  Partial<
    Record<
      'valueMissing' | 'badInput' | 'patternMismatch' | 'rangeUnderflow' | 'rangeOverflow' | 'stepMismatch' | 'tooLong',
      boolean
    >
  >
>

/** Requirements of a field, as in its attributes. */
export interface Asked {
  type: string
  pattern?: string
  min?: string
  max?: string
  step?: string
}

/** Returns what is wrong with the value of a field, in the words of the contract. */
export function refusalWords(wrongs: Wrongs, { type, pattern = '', min = '', max = '', step = '' }: Asked): string {
  if (wrongs.badInput) return 'It must be a number.'
  if (wrongs.valueMissing)
    return type === 'file'
      ? 'Select a file.'
      : type.startsWith('select')
        ? 'Select an option.'
        : 'This field is required.'
  if (wrongs.patternMismatch) return RULES[pattern] ?? 'This value does not have the required format.'
  if (wrongs.rangeUnderflow) return `It must be at least ${min}.`
  if (wrongs.rangeOverflow) return `It must be at most ${max}.`
  if (wrongs.stepMismatch) return isWhole(step) ? 'It must be a whole number.' : `It must be in steps of ${step}.`
  return 'This value is not valid.'
}

function isWhole(step: string): boolean {
  return step === '' || step === '1'
}

const NAME_RULE = 'It must be 1–63 of a–z, 0–9 and single hyphens, with a letter or digit at both ends.'
/** Rule of a pattern. */
const RULES: Readonly<Record<string, string>> = {
  [NAME_PATTERN]: NAME_RULE,
  [STATUS_PATTERN]: 'It must be an HTTP status, such as 403.',
  '/.*': 'It must be an absolute path, starting with /.',
  '/.+': 'It must be an absolute path below /.',
  '[^\\/]+': 'It must be a name without /.',
}

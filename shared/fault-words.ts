import type * as z from 'zod'

type RawIssue = Parameters<z.core.$ZodErrorMap>[0]
/** Fields that both a reported issue and the issues inside a union have. */
type Fault = Omit<z.core.$ZodIssue, 'message' | 'path'> | RawIssue

/**
 * Describes a fault in plain words, such as `must be at least 16`, if its schema has no message. Returns undefined for faults that only
 * schemas with a message find. A pure function.
 */
export function faultWords(issue: RawIssue): string | undefined {
  return issue.code !== 'invalid_key' && issue.input === undefined ? 'is required' : wordsOf(issue)
}

function wordsOf(fault: Fault): string | undefined {
  const issue = fault as z.core.$ZodIssue
  if (issue.code === 'invalid_type') return `must be ${KINDS[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be ${listed(issue.values.map(String))}`
  if (issue.code === 'too_small')
    return boundWords(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least')
  if (issue.code === 'too_big')
    return boundWords(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most')
  return issue.code === 'invalid_union' ? unionWords(issue.errors) : undefined
}

function boundWords(origin: string, bound: number, relation: string): string {
  const unit = UNITS[origin]
  if (unit === undefined) return `must be ${relation} ${bound}`
  return `must have ${relation} ${bound} ${unit}${bound === 1 ? '' : 's'}`
}

/** Describes what both branches expect, or only what one expects if that got further than the type check. */
function unionWords(branches: readonly (readonly z.core.$ZodIssue[])[]): string | undefined {
  const firsts = branches.flatMap(([first]) => (first === undefined ? [] : [first]))
  const further = firsts.find(({ path, code }) => path.length > 0 || !KINDS_OF_FAULT.has(code))
  if (further !== undefined) return further.message
  const words = firsts.map((each) => wordsOf(each)?.replace(/^must be /, ''))
  return words.length === 0 ? undefined : `must be ${words.join(' or ')}`
}

function listed(values: readonly string[]): string {
  const last = values.at(-1) ?? ''
  return values.length < 2 ? last : `${values.slice(0, -1).join(', ')} or ${last}`
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
}
const UNITS: Readonly<Record<string, string>> = { string: 'character', array: 'item' }
const KINDS_OF_FAULT: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value'])

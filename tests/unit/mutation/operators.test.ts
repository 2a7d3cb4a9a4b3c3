import { expect, test } from '@jest/globals'
import { findSites, OPERATOR_NAMES } from '../../mutation/operators.ts'

/** Returns the results of the operator for a source, one text per site. A dropped statement becomes `-`. */
function mutate(operator: string, text: string): string[] {
  const sites = findSites(text).filter((site) => site.operator === operator)
  return sites.map(({ start, end, replacement }) => text.slice(0, start) + (replacement ?? '-') + text.slice(end))
}

test('there are ten operators', () => {
  expect(OPERATOR_NAMES).toHaveLength(10)
})

test.each([
  ['condition', 'if (ready) go()', ['if (!(ready)) go()']],
  ['condition', 'x = ready ? 1 : 2', ['x = !(ready) ? 1 : 2']],
  ['condition', 'while (ready) go()', []],
  ['boolean', 'x = true', ['x = false']],
  ['comparison', 'x = a < b', ['x = a <= b']],
  ['comparison', 'if (a === b) go()', ['if (a !== b) go()']],
  ['logical', 'x = a && b', ['x = a || b']],
  ['logical', 'x = a ?? b', ['x = a']],
  ['arithmetic', 'x = a + b', ['x = a - b']],
  ['arithmetic', "x = 'a' + b + c", []],
  ['statement', 'await go(1)', ['-']],
  ['statement', 'throw error', ['-']],
  ['statement', 'const x = go()', []],
  ['return', 'const f = () => go()', ['const f = () => undefined']],
  ['return', 'function f() { return false }', []],
  ['number', 'x = [0, 64]', ['x = [1, 64]', 'x = [0, 0]']],
  ['string', "x = ['a', '']", ["x = ['', '']", "x = ['a', 'mutant']"]],
  ['string', "x = { 'a': env['b'], c: 'two words' }", []],
  ['string', "type A = 'a'", []],
  ['method', 'x = a.some(f)', ['x = a.every(f)']],
  ['method', 'x = a.filter(f).map(g)', ['x = a.map(g)']],
  ['method', 'x = a.has(b)', ['x = !a.has(b)']],
  ['method', 'x = a.toString()', []],
])('the operator %s makes of %p: %p', (operator, text, mutated) => {
  expect(mutate(operator, text)).toEqual(mutated)
})

test('the first part of an optional chain stays', () => {
  expect(mutate('method', 'x = a?.filter(f).map(g)')).toEqual([])
  expect(mutate('method', 'x = a?.filter(f)')).toEqual(['x = a'])
})

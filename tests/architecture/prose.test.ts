import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { ROOT } from '../../infra/commands.ts'
import { readProse } from '../../infra/prose/areas.ts'
import { type Budgets, compareBudgets, formatBudgets, lowerBudgets, parseBudgets } from '../../infra/prose/budget.ts'
import { OLD_NAMES } from '../../infra/prose/old-names.ts'
import { BANNED, GLOSSARY, RELATIVE } from '../../infra/prose/phrases.ts'
import { findingsOf, type Measures, measuresOf, type RuleName } from '../../infra/prose/rules.ts'
import { withTree } from '../helpers/files/tree.ts'
import { runTool } from '../helpers/tool.ts'
import { BETTER_NAMES, BETTER_SENTENCES, WORSE_NAMES, WORSE_SENTENCES } from './prose-sentences.ts'

const STRICT: readonly RuleName[] = ['banned', 'glossary', 'relative', 'long']

/** Returns the rules with findings in a page or module, each once, in order. */
function rulesAgainst(source: string, file = 'page.md'): RuleName[] {
  const rules = readProse(file, source).flatMap(({ passages }) => findingsOf(passages).findings.map(({ rule }) => rule))
  return [...new Set(rules)].sort()
}

/** Returns the words that the rules find in a page or module, without passives. */
function wordsFound(file: string, source: string): string[] {
  const findings = readProse(file, source).flatMap(({ passages }) => findingsOf(passages).findings)
  return findings.filter(({ rule }) => rule !== 'passive').map(({ words }) => words)
}

function measure(page: string): Partial<Measures> {
  const [area] = readProse('page.md', page)
  const { tally } = findingsOf(area?.passages ?? [])
  return Object.fromEntries(Object.entries(measuresOf(tally)).filter(([, number]) => number > 0))
}

describe('sentences', () => {
  test.each(WORSE_SENTENCES)('found: %s', (sentence) => {
    expect(rulesAgainst(sentence).some((rule) => STRICT.includes(rule))).toBe(true)
  })

  test.each(BETTER_SENTENCES)('clean: %s', (sentence) => {
    expect(rulesAgainst(sentence).filter((rule) => STRICT.includes(rule))).toEqual([])
  })

  test('every phrase finds a sentence of these', () => {
    const squeezed = WORSE_SENTENCES.map((sentence) => sentence.replaceAll(/`[^`]+`/g, 'XXXX'))
    const unproven = [...BANNED, ...GLOSSARY, ...RELATIVE].filter(
      ({ pattern }) => !squeezed.some((sentence) => [...sentence.matchAll(pattern)].length > 0),
    )
    expect(unproven.map(({ name }) => name)).toEqual([])
  })
})

describe('shape of sentences', () => {
  test('a sentence of 28 words is short enough, one of 29 is not', () => {
    const words = (count: number): string => `A${' word'.repeat(count - 1)}.`
    expect(rulesAgainst(words(28))).toEqual([])
    expect(rulesAgainst(words(29))).toEqual(['long'])
    expect(rulesAgainst(`A \`long ${'code '.repeat(40)}\` is one word.`)).toEqual([])
    expect(rulesAgainst(`The names are ${'`fork`, '.repeat(40)}and \`stop\`.`)).toEqual([])
  })

  test.each([
    ['The box stops; its disk stays.', true],
    ['The box stops: it has no time left.', true],
    ['Run the command: `npm run up`.', false],
    ['A box has three parts: a root, a network and volumes.', false],
    ['Note: the box stops at once.', false],
    ['Run these commands:', false],
    ['The API listens at 127.0.0.1:8080 and [::1]:8080.', false],
  ])('%s has a joint: %s', (sentence, isJoint) => {
    expect(rulesAgainst(sentence).includes('joints')).toBe(isJoint)
  })

  test('shares and the mean have a free part, and are rounded up', () => {
    const fine = 'The agent starts the box. '
    expect(measure(fine.repeat(40))).toEqual({})
    expect(measure(fine.repeat(17) + 'The box stops; its disk stays. '.repeat(3))).toEqual({})
    expect(measure(fine.repeat(16) + 'The box stops; its disk stays. '.repeat(4))).toEqual({ joints: 20 })
    expect(measure(fine.repeat(14) + 'The box is stopped at once. '.repeat(6))).toEqual({ passive: 30 })
    expect(measure(`The agent ${'really '.repeat(15)}waits. `.repeat(12))).toEqual({ mean: 18 })
  })

  test('a few sentences make no share', () => {
    expect(measure('The box stops; its disk stays.')).toEqual({})
  })
})

describe('prose of a Markdown page', () => {
  test('has no code, address or generated section', () => {
    const page = [
      '# A page',
      'The command `boxyard tell` of [the page](https://example.com/told) starts <https://example.com/anew>.',
      '```sh\nboxyard tell anew\n```',
      '<!-- generated: table -->\n\n| Told anew |\n|---|\n| told |\n\n<!-- end: table -->',
      '| A | B |\n|---|---|\n| one | the reason is told |',
    ]
    expect(wordsFound('page.md', page.join('\n\n'))).toEqual(['told'])
  })

  test('is read over line breaks and markup', () => {
    expect(wordsFound('page.md', 'The box is a copy\nof **that\nof** the user.')).toEqual(['that of'])
  })
})

describe('prose of a module', () => {
  test('is its comments, those of lines that follow each other as one', () => {
    const source = [
      '// The box starts',
      '// anew. What is left is cleared.',
      '/**\n * Reads a box, and goes\n * on.\n * @param told `anew`\n * @throws Error for a box that is no box\n */',
      'const some = 1 // anew',
      '// oxlint-disable-next-line anew',
    ]
    const words = ['anew', 'What is left is cleared.', 'goes on', 'is no box', 'anew']
    expect(wordsFound('tests/unit/a.ts', source.join('\n'))).toEqual(words.map((each) => expect.stringContaining(each)))
  })

  test('is the strings of a program, with a word for each hole of a template', () => {
    const source = [
      'export const a = `The box ${told({ anew: `nothing is told` })} starts anew.`',
      "export const b = 'The box starts ' + 'up, and the box is ' + x + ' told.'",
      "import some from 'what is told anew'",
      "const sql = 'SELECT told FROM anew WHERE it is told'",
    ]
    expect(wordsFound('agent/core/a.ts', source.join('\n'))).toEqual(['told', 'anew', 'told'])
  })

  test('is what the console shows, without names of styles', () => {
    const source = 'export const A = () => <p className="told the anew" title="It is told here">Begin anew</p>'
    expect(wordsFound('web/src/a.tsx', source)).toEqual(['told', 'anew'])
  })

  test('is not the strings of tests, which are input', () => {
    expect(wordsFound('tests/unit/a.ts', "export const a = 'The box is told anew'")).toEqual([])
  })

  test('counts for its folder, apart for comments, names and strings', () => {
    const areas = ['agent/core', 'agent/core names', 'agent/core strings']
    expect(readProse('agent/core/boxes/a.ts', '').map(({ area }) => area)).toEqual(areas)
  })
})

describe('names of code', () => {
  test.each(WORSE_NAMES)('found: %s', (name) => {
    expect(wordsFound('agent/core/a.ts', `export const ${name} = 1`)).toHaveLength(1)
  })

  test.each(BETTER_NAMES)('clean: %s', (name) => {
    expect(wordsFound('agent/core/a.ts', `export const ${name} = 1`)).toEqual([])
  })

  test('every old word finds one of these', () => {
    const names = readProse('agent/core/a.ts', `const ${WORSE_NAMES.join(' = 1, ')} = 1`).flatMap(({ passages }) =>
      passages.map(({ text }) => text),
    )
    const unproven = OLD_NAMES.filter(({ pattern }) => !names.some((name) => name.search(pattern) >= 0))
    expect(unproven.map(({ name }) => name)).toEqual([])
  })

  test('include names of files, variables, parameters, functions, classes, types, fields and values of types', () => {
    const source = [
      'let doorA = 1',
      'function doorB(doorC: 1, { a: doorD = 1, ...doorE }: A, [doorF]: B) { try {} catch (doorG) {} }',
      'class DoorH { #doorI = 1; doorJ(...doorK: C) {} }',
      "interface DoorL { doorM: 1; 'door-n'(): void }",
      "type DoorO = 'door-p' | 'door-q'",
      'const call = (doorR: D) => 1',
      "import doorS, { doorOld, one as doorT } from './a.ts'",
      "import * as doorU from './b.ts'",
      'export { one as doorV }',
      'type E<DoorW> = (doorX: DoorW) => { (doorY: 1): 1; [doorZ: string]: 1 }',
    ]
    const found = wordsFound('agent/core/door-keeper.ts', source.join('\n')).toSorted()
    const letters = [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => `door ${letter}`)
    expect(found).toEqual([...letters, 'door keeper'].toSorted())
  })

  test('count once in a file, where they are given', () => {
    const source = [
      "import { openDoor } from './doors.ts'",
      'const { door, a } = openDoor({ door: 1 })',
      'openDoor({ doorKeeper: door }).doorKeeper()',
      'function one(verb: A) {}',
      'function two(verb: A) {}',
    ]
    expect(wordsFound('agent/core/a.ts', source.join('\n'))).toEqual(['verb'])
  })

  test('are the fields of the API, which schemas give as keys', () => {
    const source = 'export const a = z.strictObject({ door_port: z.int(), verb })'
    expect(wordsFound('shared/schemas/a.ts', source)).toEqual(['door port'])
    expect(wordsFound('agent/core/a.ts', source)).toEqual([])
  })
})

describe('budgets', () => {
  const measures = fc.record(
    Object.fromEntries(['banned', 'joints', 'mean'].map((rule) => [rule, fc.nat(30)])),
  ) as fc.Arbitrary<Partial<Measures>>
  const budgets = fc.dictionary(fc.constantFrom('agent/core', 'docs/a.md', 'docs/b.md'), measures, {
    noNullPrototype: true,
  })

  test('an update never raises a number, and adds no area', () => {
    fc.assert(
      fc.property(budgets, budgets, (before, found) => {
        const after = lowerBudgets(before, found as Record<string, Measures>)
        for (const [area, numbers] of Object.entries(after))
          for (const [rule, number] of Object.entries(numbers)) {
            expect(number).toBeLessThanOrEqual(before[area]?.[rule as RuleName] ?? 0)
            expect(number).toBeLessThanOrEqual(found[area]?.[rule as RuleName] ?? 0)
          }
      }),
    )
  })

  test('a number above its budget and one below it are both named', () => {
    const before: Budgets = { 'docs/a.md': { banned: 3, long: 2 }, 'docs/gone.md': { long: 1 } }
    const none = { banned: 0, glossary: 0, joints: 0, long: 0, mean: 0, passive: 0, relative: 0 }
    const found = { 'docs/a.md': { ...none, banned: 4, long: 1 }, 'docs/new.md': { ...none, relative: 1 } }
    expect(compareBudgets(before, found)).toEqual([
      { area: 'docs/a.md', rule: 'banned', budget: 3, found: 4 },
      { area: 'docs/a.md', rule: 'long', budget: 2, found: 1 },
      { area: 'docs/gone.md', rule: 'long', budget: 1, found: 0 },
      { area: 'docs/new.md', rule: 'relative', budget: 0, found: 1 },
    ])
  })

  test('a file is read as it was written, with the lower number of lines that a merge left behind', () => {
    const text = formatBudgets({
      'docs/b.md': { long: 1 },
      'agent/core strings': { mean: 17, banned: 2 },
      'agent/core names': { glossary: 4 },
      'docs/c.md': {},
    })
    expect(text.split('\n').slice(1)).toEqual([
      ...['agent/core names: glossary=4', 'agent/core strings: banned=2 mean=17', 'docs/b.md: long=1', ''],
    ])
    const merged = `${text}docs/b.md: long=3 mean=18\nagent/core strings: banned=1 mean=18\n`
    expect(parseBudgets(merged)).toMatchObject({
      'agent/core names': { glossary: 4 },
      'agent/core strings': { banned: 1, mean: 17 },
      'docs/b.md': { long: 1, mean: 0 },
    })
  })

  test.each(['<<<<<<< ours', 'docs/a.md: bold=1', 'docs/a.md: long=-1', 'docs/a.md'])('%s is no line of it', (line) => {
    expect(() => parseBudgets(line)).toThrow(/budget|rule of prose/)
  })

  test('the committed file has its lines in order', () => {
    const lines = readFileSync(join(ROOT, 'infra/prose/budget.txt'), 'utf8').trimEnd().split('\n').slice(1)
    expect(lines).toEqual(lines.toSorted())
  })
})

test('the program names the place, the rule, the words and what to use', async () => {
  const page = '# A page\n\nThe box starts. It begins anew.\n'
  const output = await withTree({ 'docs/page.md': page }, (root) => {
    return runTool(root, ['../infra/prose.ts', 'docs/page.md']).stdout
  })
  expect(output).toContain('docs/page.md:3:27 banned: anew: use: again, or a verb with re-: reload, recreate\n')
})

import { describe, expect, test } from '@jest/globals'
import { type Next, whatIsNext } from '../../../cli/completion/candidates.ts'
import { parseErrorText } from '../../../cli/output/parse-errors.ts'
import { ALIASES, withoutAliases } from '../../../cli/verbs/aliases.ts'
import { allVerbs } from '../../../cli/verbs/all.ts'
import { FOREIGN_FLAGS, flagAdvice } from '../../../cli/verbs/flags-elsewhere.ts'
import { GROUPS, groupOf, TOPICS } from '../../../cli/verbs/groups.ts'
import { WORDS_ELSEWHERE, wordHere } from '../../../cli/verbs/words-elsewhere.ts'

const verbs = allVerbs()
const next = (line: string): Next | null => whatIsNext(line.split(' '), verbs)
const wordsOf = (line: string): readonly string[] => {
  const found = next(line)
  return found?.kind === 'words' ? found.words : []
}

test('what comes next are verbs, then those below them', () => {
  expect(wordsOf('')).toEqual(expect.arrayContaining(['create', 'volume', 'exec']))
  expect(wordsOf('-p demo ')).toContain('create')
  expect(wordsOf('volume ')).toEqual(expect.arrayContaining(['ls', 'attach', 'snapshot']))
  expect(wordsOf('volume snapshot ')).toEqual(['create', 'ls', 'info', 'rm', 'restore'])
  expect(wordsOf('snapshot ')).toEqual(['create', 'ls', 'info', 'rm', 'restore', 'diff'])
})

test('flags are those of the verb and of all', () => {
  expect(wordsOf('create --r')).toEqual(expect.arrayContaining(['--ram-mb', '--output', '--help']))
  expect(wordsOf('ls -')).not.toContain('--ram-mb')
  expect(wordsOf('ls -o ')).toEqual(['table', 'json', 'yaml', 'name'])
  expect(wordsOf('-')).toContain('--project')
})

test.each<[string, Next | null]>([
  ['info ', { kind: 'box', of: null }],
  ['-p other info ', { kind: 'box', of: null }],
  ['rm one ', { kind: 'box', of: null }],
  ['create ', null],
  ['create x --base ', { kind: 'base', of: null }],
  ['fork ', { kind: 'box', of: null }],
  ['fork web ', null],
  ['exec ', { kind: 'box', of: null }],
  ['exec --cwd /srv ', { kind: 'box', of: null }],
  ['exec web ', null],
  ['cp ', { kind: 'boxPath', of: null }],
  ['volume attach ', { kind: 'volume', of: null }],
  ['volume attach db ', { kind: 'box', of: null }],
  ['volume attach db web ', null],
  ['volume restore db ', { kind: 'volumeSnapshot', of: 'db' }],
  ['snapshot restore web ', { kind: 'snapshot', of: 'web' }],
  ['snapshot create web ', null],
  ['volume snapshot rm db ', { kind: 'volumeSnapshot', of: 'db' }],
  ['start ', { kind: 'box', of: null }],
  ['service delete web ', { kind: 'service', of: 'web' }],
  ['rm --tag a=b one ', { kind: 'box', of: null }],
  ['restore web ', { kind: 'snapshot', of: 'web' }],
  ['snapshot web ', null],
  ['logs web ', { kind: 'service', of: 'web' }],
  ['promote web ', { kind: 'service', of: 'web' }],
  ['signal web ', { kind: 'exec', of: 'web' }],
  ['use ', { kind: 'project', of: null }],
  ['ls --context ', { kind: 'context', of: null }],
  ['base rm ', { kind: 'base', of: null }],
])('after %j', (line, expected) => {
  expect(next(line)).toEqual(expected)
})

test('every verb is in a group of the help, and every word of a group is one', () => {
  const firsts = new Set(verbs.map(({ words }) => words.split(' ')[0] ?? ''))
  for (const word of firsts) expect([word, groupOf(word)]).toEqual([word, expect.any(String)])
  const named = GROUPS.flatMap(([, words]) => words.split(' '))
  expect(named.filter((word) => word !== 'completion' && !firsts.has(word))).toEqual([])
  expect(new Set(named).size).toBe(named.length)
})

test('what has verbs below it says what they are about', () => {
  const parents = verbs.map(({ words }) => words.split(' ').slice(0, -1).join(' ')).filter((words) => words !== '')
  expect([...new Set(parents)].filter((words) => TOPICS[words] === undefined)).toEqual([])
})

test('a word of another command line leads to verbs, and is none itself', () => {
  const firsts = verbs.map(({ words }) => words.split(' ')[0])
  for (const word of ['start', 'run', 'delete', 'inspect', 'toString'])
    expect([word, firsts.includes(word)]).toEqual([word, false])
  expect([wordHere('run'), wordHere('toString')]).toEqual(['create, then exec', null])
  for (const word of Object.keys(ALIASES)) expect([word, wordHere(word)]).toEqual([word, null])
})

describe('a flag of another command line', () => {
  const adviceOn = (line: string): string | null => {
    const at = line.indexOf(' -')
    return flagAdvice(line.slice(at + 1), verbs.find(({ words }) => words === line.slice(0, at)) ?? null)
  }

  test.each([
    ['create --memory', '--ram-mb'],
    ['create -m', '--ram-mb'],
    ['create --memory=2g', '--ram-mb'],
    ['update --ram', '--ram-mb'],
    ['create --disk', '--storage-gb'],
    ['volume create --disk-size', '--size-gb'],
    ['create --cpu', '--cpus'],
    ['create -v', '--mount VOLUME:PATH'],
    ['create --volume', '--mount VOLUME:PATH'],
    ['create -e', '--env'],
    ['create --publish', '--port'],
    ['create --label', '--tag'],
    ['create --image', '--base'],
    ['exec --workdir', '--cwd'],
    ['ls --namespace', '--project'],
    ['ls --all-namespaces', '--all'],
    ['ls --format', '--output'],
    ['volume rm --force', '--yes'],
    ['token create --ttl', '--expires'],
    ['lease --duration', '--seconds'],
    ['backup schedule --every', '--interval'],
    ['top --interval', '--every'],
  ])('%s leads to %s', (line, flag) => {
    expect(adviceOn(line)).toBe(`Did you mean ${flag}?`)
  })

  test.each([
    ['create --name', '<box>'],
    ['snapshot create --name', '[snapshot]'],
    ['service put --name', '<service>'],
    ['token create --name', '<token>'],
  ])('%s is the argument %s', (line, argument) => {
    expect(adviceOn(line)).toBe(`Give it as the argument ${argument}, without a flag.`)
  })

  test('says how else, or nothing', () => {
    expect(adviceOn('create --rm')).toContain('boxyard rm BOX')
    expect(adviceOn('exec --memory')).toContain('boxyard update BOX')
    expect([adviceOn('ls --nosuch'), adviceOn('ls --toString')]).toEqual([null, null])
  })

  test('leads to flags and arguments that exist', () => {
    const flags = verbs.flatMap((verb) => verb.flags.flatMap(([flag]) => flag.match(/--[a-z-]+/g) ?? []))
    const known = new Set([
      ...flags,
      ...verbs.flatMap(({ args }) => args.split(' ')),
      '--project',
      '--output',
      '--context',
    ])
    const here = FOREIGN_FLAGS.flatMap(([, ...ways]) => ways.filter((way) => !way.startsWith(': ')))
    expect(here.filter((way) => !known.has(way.split(' ')[0] ?? ''))).toEqual([])
  })
})

describe('a word that is mistyped', () => {
  const guessed = (typed: string, guess: string): string =>
    parseErrorText(`error: unknown command '${typed}'\n(Did you mean ${guess}?)\n`, null)

  test('leads to those that are close, and no others', () => {
    expect(guessed('crate', 'create')).toBe("boxyard: unknown command 'crate'\n(Did you mean create?)")
    expect(guessed('ecxe', 'one of cp, exec')).toBe("boxyard: unknown command 'ecxe'")
    expect(guessed('lss', 'one of ls, lease')).toBe("boxyard: unknown command 'lss'\n(Did you mean ls?)")
    for (const [typed, guess] of [
      ['pull', 'url'],
      ['rename', 'resume'],
      ['connect', 'context'],
    ] as const)
      expect(guessed(typed, guess)).toBe(`boxyard: unknown command '${typed}'`)
  })

  test('or is known from elsewhere', () => {
    const known = 'clone terminal env df pull build images kill rename connect'.split(' ')
    expect(known.filter((word) => wordHere(word) === null)).toEqual([])
    expect(wordHere('clone')).toBe('fork')
  })

  test('and those that lead on lead to commands', () => {
    const firsts = new Set([...verbs.map(({ words }) => words.split(' ')[0] ?? ''), ...WORDS_IN_BOX])
    for (const here of Object.values(WORDS_ELSEWHERE))
      for (const way of here.replace(/ \(.*\)$/, '').split(/, (?:or |then )?| or /))
        expect([here, firsts.has(way.replace(/^then /, '').split(' ')[0] ?? '')]).toEqual([here, true])
  })
})

describe('an alias', () => {
  test.each([
    ['start web', 'resume web'],
    ['list --all', 'ls --all'],
    ['-p demo delete web', '-p demo rm web'],
    ['inspect -o json web', 'info -o json web'],
    ['shell web', 'console web'],
    ['whoami', 'me'],
    ['volume list', 'volume ls'],
    ['service -p demo delete web site', 'service -p demo rm web site'],
    ['volume restore db first', 'volume snapshot restore db first'],
    ['volume snapshots ls db', 'volume snapshot ls db'],
    ['volume snapshot db first', 'volume snapshot create db first'],
    ['snapshots rm web good', 'snapshot rm web good'],
    ['snapshot web good', 'snapshot create web good'],
    ['snapshot --comment ls web', 'snapshot create --comment ls web'],
    ['snapshot -p demo delete web good', 'snapshot -p demo rm web good'],
    ['restore --include-data web good', 'snapshot restore --include-data web good'],
    ['diff web good live', 'snapshot diff web good live'],
    ['diff --help', 'snapshot diff --help'],
    ['--project=demo restore web good', '--project=demo snapshot restore web good'],
    ['--context=a -ojson delete web', '--context=a -ojson rm web'],
    ['-pdemo snapshot web', '-pdemo snapshot create web'],
    ['snapshot --output=json ls web', 'snapshot --output=json ls web'],
    ['snapshot -ojson list web', 'snapshot -ojson ls web'],
    ['snapshot -ojson web good', 'snapshot create -ojson web good'],
    ['volume --project=demo snapshots list db', 'volume --project=demo snapshot ls db'],
    ['volume -pdemo snapshot db', 'volume -pdemo snapshot create db'],
    ['snapshots web', 'snapshot web'],
    ['snapshots lst web', 'snapshot lst web'],
    ['-p snapshot snapshots web', '-p snapshot snapshot web'],
    ['volume snapshots db', 'volume snapshot db'],
    ['volume snapshots lst db', 'volume snapshot lst db'],
  ])('%s is %s', (typed, words) => {
    expect(withoutAliases(typed.split(' ')).join(' ')).toBe(words)
  })

  test('is none anywhere else', () => {
    for (const line of [
      'exec web list',
      'snapshot',
      'snapshot --help',
      'cp list web:/',
      'logs web start',
      'use list',
      '',
    ])
      expect(withoutAliases(line.split(' ')).join(' ')).toBe(line)
    expect(withoutAliases(['toString', 'constructor'])).toEqual(['toString', 'constructor'])
  })

  test('leads to a verb', () => {
    const words = verbs.map((verb) => verb.words)
    for (const alias of Object.values(ALIASES))
      expect(words.some((each) => `${each} `.startsWith(`${alias} `))).toBe(true)
  })
})

/** Programs that are not commands of ours. */
const WORDS_IN_BOX = ['sftp']

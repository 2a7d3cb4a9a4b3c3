import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { AGENT_SETTINGS, FRONT_SETTINGS } from '../../../shared/settings-names.ts'
import { callsIn, complaintOf } from '../../helpers/clients/command-parser.ts'

// The tests that name a page run the commands in its ```console blocks. Commands in other blocks and in sentences are only parsed here.
// They need a host of their own, several machines or a person, as most of docs/how-to/several-nodes.md does (all but its section "Move a
// project").

const PAGES = globSync('docs/how-to/*.md', { cwd: ROOT }).sort()
const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }).scripts,
)
/** All manifests of `infra/kubernetes`. */
const MANIFESTS = globSync('infra/kubernetes/*.yaml', { cwd: ROOT })
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .join('\n---\n')

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/^```(?:sh|console)\n([^]*?)^```$/gm)].flatMap(([, block = '']) =>
    block.replaceAll('\\\n', ' ').split('\n'),
  )
  const codes = [...text.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, code = '']) => code)

  test('calls the command line in ways that it understands', async () => {
    for (const call of blocks.flatMap(callsIn)) expect([call, await complaintOf(call)]).toEqual([call, null])
    // A sentence can name a command without its arguments.
    for (const call of codes.flatMap(callsIn)) {
      const complaint = (await complaintOf(call)) ?? ''
      expect([call, complaint.includes('missing required argument') ? '' : complaint]).toEqual([call, ''])
    }
  })

  test('names settings and scripts that exist', () => {
    const settings = [...text.matchAll(/\bBOXYARD_[A-Z0-9_]*[A-Z0-9]\b(?!_)/g)].map(([name]) => name)
    expect(settings.filter((name) => !KNOWN.has(name))).toEqual([])
    const scripts = [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, name = '']) => name)
    expect(scripts.filter((name) => !SCRIPTS.includes(name))).toEqual([])
  })

  test('names objects of Kubernetes that the manifests have', () => {
    const commands = [...blocks, ...codes].filter((line) => line.startsWith('kubectl '))
    const namespaces = commands.flatMap((line) => / -n (\S+)/.exec(line)?.[1] ?? [])
    const objects = commands.flatMap((line) => / (?:token|configmap) (\S+)/.exec(line)?.[1] ?? [])
    for (const name of [...namespaces, ...objects]) expect(MANIFESTS).toMatch(new RegExp(`\\bname: ${name}$`, 'm'))
  })
})

test('the parser refuses what the command line refuses', async () => {
  const calls = [
    ['creat', 'web'],
    ['create'],
    ['create', '--cpu', '2', 'web'],
    ['snapshot', 'create'],
    ['service', 'put', 'web', 'site', '-d', '@site.json'],
  ]
  for (const call of calls) expect([call, await complaintOf(call)]).not.toEqual([call, null])
  expect(callsIn("B=$(boxyard ls -o name | head -1); boxyard exec $B sh -c 'a | b' >out 2>&1 # note")).toEqual([
    ['ls', '-o', 'name'],
    ['exec', 'x', 'sh', '-c', 'a | b'],
  ])
})

/** Settings of the service, and environment variables of the CLI. */
const KNOWN: ReadonlySet<string> = new Set([
  ...AGENT_SETTINGS,
  ...FRONT_SETTINGS,
  ...['BOXYARD_URL', 'BOXYARD_TOKEN', 'BOXYARD_PROJECT', 'BOXYARD_BOX', 'BOXYARD_CONTEXT'],
])

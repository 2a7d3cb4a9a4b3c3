import { createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { findConnection } from '../context/connection.ts'
import { readContexts } from '../context/store.ts'
import { allVerbs } from '../verbs/all.ts'
import { type Next, whatIsNext } from './candidates.ts'
import { COMPLETION } from './scripts.ts'

/** Returns the candidates for the last word of a command line, or none if they are unknown. */
export async function nextWords(typed: readonly string[], environment: NodeJS.ProcessEnv): Promise<string[]> {
  const next = whatIsNext(typed, [...allVerbs(), COMPLETION])
  if (next === null) return []
  const current = typed.at(-1) ?? ''
  // A user who presses Tab wants another word, not an error.
  const words = next.kind === 'words' ? next.words : await namesOf(next, typed, environment).catch(() => [])
  return words.filter((word) => word.startsWith(current)).sort()
}

async function namesOf(
  { kind, of }: Exclude<Next, { kind: 'words' }>,
  typed: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string[]> {
  if (kind === 'context') return Object.keys(readContexts(environment).contexts)
  const valueOf = (...flags: string[]): string | undefined => typed[typed.findIndex((word) => flags.includes(word)) + 1]
  const isGiven = (...flags: string[]): boolean => typed.slice(0, -2).some((word) => flags.includes(word))
  const connection = findConnection(
    {
      context: isGiven('--context') ? valueOf('--context') : undefined,
      project: isGiven('-p', '--project') ? valueOf('-p', '--project') : undefined,
    },
    environment,
    process.cwd(),
  )
  const { url, token, project = '' } = connection
  const boxyard = createBoxyard({ url, token, attempts: 1 })
  const path = { project: project ?? '' }
  const inBox = { ...path, name: of === '.' ? (connection.box ?? '') : (of ?? '') }
  switch (kind) {
    case 'box':
      return collect(boxyard.list('listBoxes', { path }), ({ name }) => name)
    case 'boxPath':
      return collect(boxyard.list('listBoxes', { path }), ({ name }) => `${name}:`)
    case 'project':
      return collect(boxyard.list('listProjects', {}), (each) => each.project)
    case 'volume':
      return collect(boxyard.list('listVolumes', { path }), ({ name }) => name)
    case 'base': {
      const shared = await collect(boxyard.list('listSharedBases', {}), ({ name }) => name)
      return [...shared, ...(await collect(boxyard.list('listBases', { path }), ({ name }) => name))]
    }
    case 'snapshot':
      return collect(boxyard.list('listBoxSnapshots', { path: inBox }), ({ name }) => name)
    case 'volumeSnapshot':
      return collect(boxyard.list('listVolumeSnapshots', { path: inBox }), ({ name }) => name)
    case 'service':
      return collect(boxyard.list('listServices', { path: inBox }), ({ name }) => name)
    case 'session':
      return collect(boxyard.list('listSessions', { path: inBox }), ({ name }) => name)
    case 'exec':
      return collect(boxyard.list('listExecs', { path: inBox }), ({ id }) => id)
  }
}

async function collect<T>(items: AsyncIterable<T>, nameOf: (item: T) => string): Promise<string[]> {
  const names: string[] = []
  for await (const item of items) names.push(nameOf(item))
  return names
}

import { printAnswer } from '../output/printing.ts'
import type { Verb } from './verb.ts'

const list: Verb = {
  words: 'project ls',
  args: '',
  flags: [],
  summary: 'List the projects that the token is for by name, or that have boxes or volumes where it is for all',
  details: 'A project is there once something is made in it.',
  examples: ['boxyard project ls'],
  operations: ['getMe', 'listBoxes', 'listVolumes'],
  run: async ({ boxyard, connection, format, tell }) => {
    const { projects } = await boxyard.call('getMe', {})
    const counts = new Map((Array.isArray(projects) ? projects : []).map((name) => [name, { boxes: 0, volumes: 0 }]))
    const countsOf = (name: string): { boxes: number; volumes: number } => {
      const found = counts.get(name) ?? { boxes: 0, volumes: 0 }
      counts.set(name, found)
      return found
    }
    const path = { project: '-' }
    for await (const { project } of boxyard.list('listBoxes', { path })) countsOf(project).boxes++
    for await (const { project } of boxyard.list('listVolumes', { path })) countsOf(project).volumes++
    const rows = [...counts]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([name, count]) => {
        return { name, ...count, status: name === connection.project ? 'current' : '' }
      })
    if (rows.length === 0) tell('There are none: boxyard use NAME; boxyard create BOX')
    await printAnswer(rows, format, ['name', 'boxes', 'volumes', 'status'])
  },
}

/** The verb of projects. */
export const PROJECT_VERBS: readonly Verb[] = [list]

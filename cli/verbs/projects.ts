import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { printAnswer } from '../output/printing.ts'
import { numberText } from '../output/records.ts'
import type { Verb } from './verb.ts'

const list: Verb = {
  words: 'projects',
  args: '',
  flags: [['--prefix <text>', 'only names with this prefix']],
  summary: 'List the projects that exist, with their usage and quotas',
  details:
    'A project exists once it has a resource or a quota. The table shows usage and quota, such as 3/20. -o json has all fields.',
  examples: ['boxyard projects', 'boxyard projects -o json'],
  operations: ['listProjects'],
  run: async ({ boxyard, connection, format, tell }, _, flags) => {
    const query = typeof flags['prefix'] === 'string' ? { prefix: flags['prefix'] } : {}
    const projects: Project[] = []
    for await (const project of boxyard.list('listProjects', { query })) projects.push(project)
    if (projects.length === 0) tell('No projects yet. To start one: boxyard use NAME, then boxyard create BOX')
    if (format === 'json' || format === 'yaml') return printAnswer({ projects }, format)
    await printAnswer(
      projects.map((project) => projectRow(project, connection.project)),
      format,
      ['name', 'boxes', 'running', 'volumes', 'cpus', 'ram_mb', 'storage_gb', 'status'],
    )
  },
}

/** The command of projects. */
export const PROJECT_VERBS: readonly Verb[] = [list]

type Project = AnswerOf<'listProjects'>['projects'][number]

/** Creates the row of a project. A pure function. */
export function projectRow(
  { project, used, allowed, boxes, volumes }: Project,
  current: string | null | undefined,
): Record<string, string | number> {
  const of = (name: 'boxes' | 'cpus' | 'ram_mb' | 'storage_gb'): string =>
    [used[name], ...(allowed[name] === null ? [] : [allowed[name]])].map(numberText).join('/')
  return {
    name: project,
    boxes: of('boxes'),
    running: boxes.running,
    volumes,
    cpus: of('cpus'),
    ram_mb: of('ram_mb'),
    storage_gb: of('storage_gb'),
    status: project === current ? 'current' : '',
  }
}

import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { CallInput } from '../../sdk/typescript/src/calls.ts'
import { reportFailure, UsageError } from '../output/failures.ts'
import { whileInterruptible } from '../output/interrupts.ts'
import { printAnswer } from '../output/printing.ts'
import { printLine, reportLine } from '../output/terminal.ts'
import { visibleJson } from '../output/visible-text.ts'
import { tellIfSlow } from '../output/waiting.ts'
import { callAndPrint, fieldsFrom, jsonFrom, numberOf, pairsOf } from './plain.ts'
import { hidingRemark } from './remarks.ts'
import type { Verb, VerbContext } from './verb.ts'

const BOX_FIELDS = ['cpus:number', 'ram_mb:number', 'storage_gb:number']
const BOX_FLAGS = [
  ['--cpus <n>', 'cores, also parts of one; at most those of the host'],
  ['--ram-mb <n>', 'memory in MiB'],
  ['--storage-gb <n>', 'disk in GiB'],
  ['--env <key=value...>', 'variables of its environment; KEY alone as it is here'],
  ['--tag <key=value...>', 'tags'],
] as const

const create: Verb = {
  words: 'create',
  args: '<box>',
  flags: [
    ['--base <base>', 'what it is made of'],
    ['--mount <volume:path...>', 'volumes to attach; `:ro` at the end to read only'],
    ...BOX_FLAGS,
  ],
  summary: 'Make a box, and wait until it runs',
  examples: ['boxyard create web', 'boxyard create build --cpus 2 --ram-mb 2048 --mount cache:/var/cache'],
  operations: ['createBox'],
  run: async (context, [name = ''], flags) => {
    const mounts = Array.isArray(flags['mount']) ? flags['mount'] : []
    await makeBox(context, {
      name,
      ...fieldsFrom(['base'], flags),
      ...settingsFrom(flags),
      ...(mounts.length === 0 ? {} : { data_mounts: mounts.map(mountOf) }),
    })
    for (const { path } of mounts.map(mountOf)) {
      const remark = hidingRemark(path)
      if (remark !== null) reportLine(`boxyard: ${remark}`)
    }
  },
}

const fork: Verb = {
  words: 'fork',
  args: '<source> <box>',
  fills: { fork: '<source>' },
  flags: BOX_FLAGS,
  summary: 'Make a box with the disk of another, or of its snapshot, as it is now',
  examples: ['boxyard fork web try', 'boxyard fork web@good try'],
  operations: ['createBox'],
  run: async (context, [source = '', name = ''], flags) => {
    await makeBox(context, { name, fork: source, ...settingsFrom(flags) })
  },
}

const list: Verb = {
  words: 'ls',
  args: '',
  flags: [
    ['-a, --all', 'of all projects'],
    ['-q, --quiet', 'names alone, as -o name'],
    ['--status <status>', 'only these'],
    ['--prefix <text>', 'only names that begin so'],
    ['--tag <key=value...>', 'only with these tags'],
  ],
  summary: 'List boxes',
  examples: ['boxyard ls', 'boxyard ls --all -o name'],
  operations: ['listBoxes'],
  run: async (context, _args, flags) => {
    const path = { project: flags['all'] === true ? '-' : context.project() }
    const query = fieldsFrom(['status', 'prefix', 'tag'], flags)
    const form = flags['quiet'] === true ? { ...context, format: 'name' as const } : context
    await callAndPrint(form, 'listBoxes', { input: { path, query }, whenEmpty: 'There are none: boxyard create NAME' })
  },
}

const update: Verb = {
  words: 'update',
  args: '<box>',
  flags: [...BOX_FLAGS, ['--port <n>', 'port that its URL leads to; 0: none'], ['-d, --data <json>', 'further fields']],
  summary: 'Change limits, environment, tags or port of a box',
  examples: ['boxyard update web --cpus 2 --ram-mb 1024'],
  operations: ['updateBox'],
  run: async (context, [name = ''], flags) => {
    const more = typeof flags['data'] === 'string' ? jsonFrom(flags['data']) : {}
    const body = { ...more, ...settingsFrom(flags), ...fieldsFrom(['port:number'], flags) }
    const path = { project: context.project(), name }
    await callAndPrint(context, 'updateBox', { input: { path, body } })
  },
}

const remove: Verb = {
  words: 'rm',
  args: '<box...>',
  flags: [['-f, --force', 'say nothing of those that are not there']],
  summary: 'Delete boxes; their volumes stay',
  examples: ['boxyard rm try', 'boxyard ls -o name | xargs boxyard rm'],
  operations: ['deleteBox'],
  run: async ({ boxyard, project, tell }, names, flags) => {
    const failures: Error[] = []
    const isExpected = (error: Error): boolean =>
      flags['force'] === true && error instanceof ApiError && error.code === 'box_not_found'
    for (const name of names) {
      const box = boxyard.box(project(), name)
      await tellIfSlow(tell, `Delete ${name}`, () => box.delete()).catch((error: Error) => {
        if (!isExpected(error)) failures.push(error)
      })
    }
    // The last is told as the end of the verb.
    const last = failures.pop()
    for (const failure of failures) reportFailure(failure)
    if (last !== undefined) throw last
  },
}

const wait: Verb = {
  words: 'wait',
  args: '<box> [status]',
  flags: [['--timeout <seconds>', 'give up after this time']],
  summary: 'Wait until a box is running, or has another status',
  examples: ['boxyard wait web', 'boxyard wait web stopped'],
  operations: ['getBox', 'listEvents'],
  run: async ({ boxyard, project, format, tell }, [name = '', word = 'running'], flags) => {
    const status = STATUSES.find((each) => each === word)
    if (status === undefined) throw new UsageError(`A box is never ${word}: it is ${STATUSES.join(', ')}.`)
    const seconds = numberOf('timeout', flags['timeout'] ?? Number.POSITIVE_INFINITY)
    if (!(seconds > 0)) throw new UsageError('--timeout takes seconds.')
    tell(`Waiting until ${name} is ${status}`)
    const signal = seconds <= LONGEST_WAIT_SECONDS ? AbortSignal.timeout(seconds * 1000) : undefined
    try {
      await printAnswer(await boxyard.box(project(), name).waitUntil(status, signal), format)
    } catch (error) {
      if (signal?.aborted === true) throw new Error(`${name} is not ${status} after ${seconds} s.`, { cause: error })
      throw error
    }
  },
}

const events: Verb = {
  words: 'events',
  args: '',
  flags: [
    ['-f, --follow', 'go on as they come'],
    ['--since <cursor>', 'after this cursor, or from this time; `now`: only new ones'],
    ['--type <type,...>', 'such as box.created or box.*'],
  ],
  summary: 'Tell what has happened in the project',
  examples: ['boxyard events', 'boxyard events -f --type box.*'],
  operations: ['listEvents'],
  run: async ({ boxyard, project, format }, _args, flags) => {
    const query = fieldsFrom(['since', 'type'], flags) as { since?: string; type?: string[] }
    if (flags['follow'] !== true) {
      const path = { project: project() }
      const all = await boxyard.call('listEvents', { path, query })
      for (let last = all; last.has_more; ) {
        last = await boxyard.call('listEvents', { path, query: { ...query, since: last.next_cursor } })
        all.events.push(...last.events)
        Object.assign(all, { has_more: last.has_more, next_cursor: last.next_cursor })
      }
      return printAnswer(all, format)
    }
    for await (const event of boxyard.events(project(), { since: query.since ?? 'now', types: query.type })) {
      if (format === 'table') printLine(`${event.ts}  ${event.type}  ${event.resource}`)
      else if (format === 'json') printLine(visibleJson(event))
      else await printAnswer(format === 'yaml' ? [event] : event, format)
    }
  },
}

const STATUSES = ['pending', 'running', 'stopped', 'unknown'] as const
/** Timers of Node.js know no more. */
const LONGEST_WAIT_SECONDS = 2_147_483

/** The verbs of boxes. */
export const BOX_VERBS: readonly Verb[] = [create, list, remove, update, fork, wait, events]

/** Makes a box and prints it once it runs. Who does not wait for that is told that it goes on. */
async function makeBox(
  { boxyard, project, format, tell }: VerbContext,
  body: CallInput<'createBox'>['body'],
): Promise<void> {
  const { name } = body
  const goesOn = `boxyard: ${name} is being made all the same: boxyard wait ${name}, or boxyard rm ${name}`
  await whileInterruptible(
    () => reportLine(goesOn),
    async () => {
      // A user who sees this line can interrupt the wait.
      tell(`Making ${name}`)
      await printAnswer(await (await boxyard.createBox(project(), body)).info(), format)
    },
  )
}

type Settings = Pick<CallInput<'createBox'>['body'], 'config' | 'environment' | 'tags'>

function settingsFrom(flags: Parameters<typeof fieldsFrom>[1]): Settings {
  const config = fieldsFrom(BOX_FIELDS, flags)
  return {
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(flags['env'] === undefined ? {} : { environment: pairsOf(flags['env']) }),
    ...(flags['tag'] === undefined ? {} : { tags: pairsOf(flags['tag']) }),
  }
}

function mountOf(text: string): { name: string; path: string; read_only: boolean } {
  const [name = '', path = '', mode] = text.split(':')
  return { name, path, read_only: mode === 'ro' }
}

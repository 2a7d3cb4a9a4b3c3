import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import { whileInterruptible } from '../output/interrupts.ts'
import { type OutputFormat, printAnswer } from '../output/printing.ts'
import { printLine, reportLine } from '../output/terminal.ts'
import { visibleJson } from '../output/visible-text.ts'
import { followOperation, tellIfSlow } from '../output/waiting.ts'
import { DATA_FLAG, mountsOf, newBoxFrom, PLACE_FLAGS, SETTING_FLAGS } from './box-settings.ts'
import { BOX_BRIEF } from './briefs.ts'
import { callAndPrint, fieldsFrom, pairsOf, printBrief } from './plain.ts'
import { quantityOf, timerMs } from './quantities.ts'
import { hidingRemark } from './remarks.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const NEW_FLAGS = [
  ...SETTING_FLAGS,
  ...PLACE_FLAGS,
  ['--env <key=value...>', 'environment variables (KEY without a value copies yours)'],
  ['--tag <key=value...>', 'tags'],
  DATA_FLAG,
] as const

const create: Verb = {
  words: 'create',
  args: '<box>',
  flags: [['--base <base>', 'base to create it from'], ...NEW_FLAGS],
  summary: 'Create a box and wait until it runs',
  examples: ['boxyard create web', 'boxyard create build --cpus 2 --ram-mb 2g --mount cache:/var/cache'],
  operations: ['createBox'],
  run: (context, [name = ''], flags) => makeBox(context, { name }, flags),
}

const fork: Verb = {
  words: 'fork',
  args: '<source> <box>',
  fills: { fork: '<source>' },
  flags: NEW_FLAGS,
  summary: 'Create a box with a copy of the disk of another box, or of its snapshot',
  examples: ['boxyard fork web try', 'boxyard fork web@good try'],
  operations: ['createBox'],
  run: (context, [source = '', name = ''], flags) => makeBox(context, { name, fork: source }, flags),
}

const list: Verb = {
  words: 'ls',
  args: '',
  flags: [
    ['-a, --all', 'boxes of all projects'],
    ['-q, --quiet', 'print only names, like -o name'],
    ['--status <status>', 'only these'],
    ['--prefix <text>', 'only names with this prefix'],
    ['--tag <key=value...>', 'only boxes with these tags'],
  ],
  summary: 'List boxes',
  examples: ['boxyard ls', 'boxyard ls --all -o name'],
  operations: ['listBoxes'],
  run: async (context, _args, flags) => {
    const path = { project: flags['all'] === true ? '-' : context.project() }
    const query = fieldsFrom(['status', 'prefix', 'tag:tags'], flags)
    const form = flags['quiet'] === true ? { ...context, format: 'name' as const } : context
    await callAndPrint(form, 'listBoxes', {
      input: { path, query },
      whenEmpty: 'No boxes yet. To create one: boxyard create NAME',
    })
  },
}

const restart: Verb = {
  words: 'restart',
  args: '<box>',
  flags: [],
  summary: 'Restart a box, or start a stopped one',
  examples: ['boxyard restart web'],
  operations: ['stopBox', 'resumeBox'],
  run: async (context, [name = '']) => {
    const path = { project: context.project(), name }
    const { status, headers } = await tellIfSlow(context.tell, `Stop ${name}`, () =>
      context.boxyard.callFully('stopBox', { path }),
    )
    const later = headers.get('operation-location')
    if (status === 202 && later !== null) await followOperation(context.boxyard, later)
    await callAndPrint(context, 'resumeBox', { input: { path }, brief: BOX_BRIEF })
  },
}

const wait: Verb = {
  words: 'wait',
  args: '<box> [status]',
  flags: [['--timeout <time>', 'fail after this time, such as 90s or 5m']],
  summary: 'Wait until a box is running, or has another status',
  examples: ['boxyard wait web', 'boxyard wait web stopped'],
  operations: ['getBox', 'listEvents'],
  run: async (context, [name = '', word = 'running'], flags) => {
    const { boxyard, project, tell } = context
    const status = STATUSES.find((each) => each === word)
    if (status === undefined) throw new UsageError(`[status]: must be one of ${STATUSES.join(', ')}, not "${word}".`)
    const { timeout } = flags
    const seconds = timeout === undefined ? Number.POSITIVE_INFINITY : quantityOf('seconds', 'timeout', timeout)
    if (!(seconds > 0)) throw new UsageError('--timeout: must be a time greater than 0, such as 90s or 5m.')
    tell(`Waiting until ${name} is ${status}`)
    const signal = Number.isFinite(seconds) ? AbortSignal.timeout(timerMs(seconds)) : undefined
    try {
      await printBrief(context, BOX_BRIEF, await boxyard.box(project(), name).waitUntil(status, signal))
    } catch (error) {
      if (signal?.aborted === true) throw new Error(`${name} was not ${status} within ${seconds} s.`, { cause: error })
      throw error
    }
  },
}

const events: Verb = {
  words: 'events',
  args: '',
  flags: [
    ['-f, --follow', 'keep running, and print new events'],
    [
      '--since <cursor>',
      'start after this cursor, or at this time: a timestamp, 10m for the last 10 minutes, or `now` for new events only',
    ],
    ['--type <type,...>', 'such as box.created or box.*'],
  ],
  summary: 'List the events of the project',
  examples: ['boxyard events', 'boxyard events -f --type box.*'],
  operations: ['listEvents'],
  run: async ({ boxyard, project, format }, _args, flags) => {
    const query = fieldsFrom(['since:since', 'type'], flags) as { since?: string; type?: string[] }
    if (flags['follow'] !== true) {
      const path = { project: project() }
      const all = await boxyard.call('listEvents', { path, query }).catch(retoldSince(flags['since']))
      for (let last = all; last.has_more; ) {
        last = await boxyard.call('listEvents', { path, query: { ...query, since: last.next_cursor } })
        all.events.push(...last.events)
        Object.assign(all, { has_more: last.has_more, next_cursor: last.next_cursor })
      }
      return printAnswer(all, format)
    }
    const { since = 'now', type: types } = query
    try {
      for await (const event of boxyard.events(project(), { since, types })) await printEvent(event, format)
    } catch (error) {
      retoldSince(flags['since'])(error)
    }
  },
}

const STATUSES = ['pending', 'running', 'stopped', 'unknown'] as const

/** The commands of boxes. */
export const BOX_VERBS: readonly Verb[] = [create, list, fork, restart, wait, events]

/** Creates a box from the flags, and prints it once it runs. If the user interrupts the wait, reports that the creation continues. */
async function makeBox(context: VerbContext, named: { name: string; fork?: string }, flags: VerbFlags): Promise<void> {
  const { boxyard, project, tell } = context
  const { name } = named
  const body = {
    ...newBoxFrom(flags),
    ...named,
    ...(flags['env'] === undefined ? {} : { environment: pairsOf(flags['env'], '--env') }),
    ...(flags['tag'] === undefined ? {} : { tags: pairsOf(flags['tag'], '--tag') }),
  }
  await whileInterruptible(
    () => reportLine(`boxyard: the service still creates ${name}. Run boxyard wait ${name}, or boxyard rm ${name}`),
    async () => {
      // A user who sees this line can interrupt the wait.
      tell(`Creating ${name}`)
      const box = await boxyard.createBox(project(), body)
      await printBrief(context, BOX_BRIEF, await box.info())
    },
  )
  for (const { path } of mountsOf(flags)) {
    const remark = hidingRemark(path)
    if (remark !== null) reportLine(`boxyard: ${remark}`)
  }
}

async function printEvent(event: ListedEvent, format: OutputFormat): Promise<void> {
  if (format === 'table') printLine(`${event.ts}  ${event.type}  ${event.resource}`)
  else if (format === 'json') printLine(visibleJson(event))
  else await printAnswer(format === 'yaml' ? [event] : event, format)
}

type ListedEvent = AnswerOf<'listEvents'>['events'][number]

/** Throws the error of a request for events. If the service rejects `--since`, names all that the flag accepts. */
function retoldSince(since: unknown): (error: unknown) => never {
  return (error) => {
    const isSince = error instanceof ApiError && error.errors.some(({ pointer }) => pointer === '/query/since')
    const accepted = 'a time such as 10m, a timestamp such as 2026-01-31T12:00:00Z, now, or a cursor of events'
    throw isSince ? new UsageError(`--since: must be ${accepted}, not "${String(since)}".`) : error
  }
}

import type { CallInput } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import { printAnswer } from '../output/printing.ts'
import { pairsOf } from './plain.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const QUERY_FLAG = ['--query <key=value...>', 'query parameters of the request (the URL works only with them)'] as const

const ofBox: Verb = {
  words: 'ticket box',
  args: '<box> <operation>',
  flags: [['--service <service>', 'for getServiceLogs'], ['--port <n>', 'for openPort'], QUERY_FLAG],
  summary: 'Print a URL for one request to a box without a token, valid 60 s',
  examples: [
    'boxyard ticket box web readFile --query path=/etc/hostname -o name',
    'boxyard ticket box web openPort --port 5432',
  ],
  operations: ['createTicket'],
  run: async (context, [name = '', operation = ''], flags) => {
    const { service, port } = flags
    const body = {
      ...requestOf(operation, flags),
      ...(typeof service === 'string' ? { service } : {}),
      ...(port === undefined ? {} : { port: portOf(port) }),
    } as CallInput<'createTicket'>['body']
    await print(
      context,
      await context.boxyard.call('createTicket', { path: { project: context.project(), name }, body }),
    )
  },
}

const ofProject: Verb = {
  words: 'ticket project',
  args: '<operation>',
  flags: [QUERY_FLAG],
  summary: 'Print a URL for one createBase or listEvents request without a token, valid 60 s',
  examples: ['boxyard ticket project createBase --query name=alpine -o name'],
  operations: ['createProjectTicket'],
  run: async (context, [operation = ''], flags) => {
    const body = requestOf(operation, flags) as CallInput<'createProjectTicket'>['body']
    await print(
      context,
      await context.boxyard.call('createProjectTicket', { path: { project: context.project() }, body }),
    )
  },
}

/** The commands of tickets. */
export const TICKET_VERBS: readonly Verb[] = [ofBox, ofProject]

function requestOf(operation: string, flags: VerbFlags): { operation: string; query?: Record<string, string[]> } {
  const query = flags['query'] === undefined ? {} : { query: repeatedPairsOf(flags['query']) }
  return { operation, ...query }
}

/** Reads pairs whose key may repeat, such as the words of a program. */
function repeatedPairsOf(value: unknown): Record<string, string[]> {
  const query: Record<string, string[]> = {}
  for (const pair of Array.isArray(value) ? value : [])
    for (const [key, text] of Object.entries(pairsOf([pair], '--query'))) query[key] = [...(query[key] ?? []), text]
  return query
}

function portOf(value: unknown): number {
  const port = Number(value)
  if (!Number.isInteger(port)) throw new UsageError('--port: must be a number.')
  return port
}

async function print({ format }: VerbContext, ticket: { url?: string }): Promise<void> {
  await printAnswer(format === 'name' ? { name: ticket.url } : ticket, format)
}

import { readFileSync } from 'node:fs'
import type { FullAnswer, OperationId } from '../../sdk/typescript/src/calls.ts'
import { OPERATIONS } from '../../sdk/typescript/src/generated/operations.ts'
import { checkInput } from '../files/local-input.ts'
import { reportCanceled } from '../output/asking.ts'
import { UsageError } from '../output/failures.ts'
import { itemsOf, printAnswer } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import { followOperation, tellIfSlow } from '../output/waiting.ts'
import { type Brief, briefOf } from './briefs.ts'
import { CONFIRMATION, isDeletionMeant, YES_FLAG } from './deletions.ts'
import { flagOf, isQuantity, NO_SPAN, numberOf, quantityOf, sinceOf } from './quantities.ts'
import { tagFilterOf } from './tag-filters.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

/**
 * A command that is one operation. Its arguments go into the path if that has them, otherwise into the body, or into the query of a GET.
 * Flags are fields of the same. `size_gb:number its size` is `--size-gb`, and `tag=tags:map its tags` is `--tag`, which fills `tags`. `a.b`
 * is field `b` of `a`. `every|interval:seconds` is `--interval`, which is also called `--every`.
 */
export interface PlainVerb {
  words: string
  operation: OperationId
  /** Such as `<name> [box]`. `<volume=name>` is shown as `<volume>` and fills `name`. `.name` fills `name` of the body. */
  args?: string
  fields?: readonly string[]
  /** Help text beyond the summary of the operation. */
  details?: string
  /** Replaces the default example, which repeats the arguments. */
  examples?: readonly string[]
  /** Columns of the table of its list. */
  columns?: readonly string[]
  /** Fields printed for people in place of all fields. */
  brief?: Brief
  /** Rewrites the answer for people. Other formats get it unchanged. */
  forPeople?(answer: unknown): unknown
  /** Whether `--project` filters a list of all projects. */
  selectsProject?: boolean
  /** Whether it needs a flag with a change. */
  requiresChange?: boolean
  /** As `ways` of a command. */
  ways?: Verb['ways']
  /** The operation that reads a resource, if the command deletes it with data that cannot be restored. The command then asks. */
  deletes?: OperationId
  /** Advice if an argument is missing. */
  whenMissing?: string
  /** Advice for people if the list is empty. */
  whenEmpty?: string
  /** Converts the arguments to the operation's input. @throws UsageError */
  arrange?(given: readonly string[], context: VerbContext): readonly string[] | Promise<readonly string[]>
  /** Explains on stderr what the answer means beyond its fields, or returns null for nothing. */
  remark?(answer: unknown, given: readonly string[], context: VerbContext): Promise<string | null> | string | null
}

/** Creates the command of a row. */
export function plainVerb(row: PlainVerb): Verb {
  const { words, operation, args = '', fields = [], deletes, arrange = (given) => given } = row
  const { method, summary } = OPERATIONS[operation]
  const details = row.details ?? (deletes === undefined ? undefined : CONFIRMATION)
  const names = args.match(/[^<>[\]\s]+/g) ?? []
  const targets = names.map((name) => name.slice(name.indexOf('=') + 1).replace('...', ''))
  const shown = args.replaceAll(/=\.?[a-z_]+/g, '')
  const flags = fields.map(readField).map(({ flag, short, kind, meaning }): [string, string] => {
    const also = short === undefined ? '' : `--${short}, `
    return [`${also}--${flag.replaceAll('_', '-')}${VALUES[kind] ?? ' <text>'}`, meaning]
  })
  const body: [string, string][] =
    method === 'GET' || method === 'DELETE'
      ? []
      : [['-d, --data <json>', 'more fields as JSON (@FILE reads a file, - reads stdin)']]
  return {
    words,
    args: shown,
    fills: Object.fromEntries(shown.split(' ').map((word, i) => [targets[i]?.replace('.', '') ?? '', word])),
    flags: [
      ...flags,
      ...body,
      ...(deletes === undefined ? [] : [YES_FLAG]),
      ['--query <key=value...>', 'more query parameters'],
    ],
    summary,
    ...(details === undefined ? {} : { details }),
    ...(row.whenMissing === undefined ? {} : { whenMissing: row.whenMissing }),
    examples: row.examples ?? [`boxyard ${words} ${shown.replaceAll(/[<>[\]]/g, '')}`.trimEnd()],
    operations: deletes === undefined ? [operation] : [operation, deletes],
    ...(row.ways === undefined ? {} : { ways: row.ways }),
    run: async (context, typed, options) => {
      if (row.requiresChange === true) requireChange(words, options)
      const given = await arrange(typed, context)
      // The last of several takes the rest.
      const isRest = (i: number): boolean => names[i]?.endsWith('...') === true && given.length > i
      const valueAt = (i: number): unknown => (isRest(i) ? given.slice(i) : given[i])
      const input = inputOf(context, operation, {
        ...Object.fromEntries(targets.map((target, i) => [target, valueAt(i)])),
        ...fieldsFrom(fields, options),
        ...(row.selectsProject === true ? { project: options['project'] } : {}),
      })
      Object.assign(input.query, pairsOf(options['query'], '--query'))
      if (deletes !== undefined) {
        const deletion = { get: deletes, input: { path: input.path, query: {} }, args: shown, given }
        if (!(await isDeletionMeant(context, deletion, options))) return reportCanceled()
      }
      const answer = await callAndPrint(context, operation, {
        ...row,
        input: { ...input, ...bodyOf(operation, input, options) },
      })
      const remark = (await row.remark?.(answer, given, context)) ?? null
      if (remark !== null) reportLine(`boxyard: ${remark}`)
    },
  }
}

/** Requires a flag that changes something. @throws UsageError */
export function requireChange(words: string, flags: VerbFlags): void {
  const given = Object.entries(flags).filter(([name, value]) => value !== undefined && !GLOBAL.has(name))
  if (given.length > 0) return
  throw new UsageError(`Nothing to change. Add a flag. boxyard ${words} --help lists them.`)
}

interface LooseCall {
  path: Record<string, string>
  query: Record<string, unknown>
  fields: Record<string, unknown>
}

function inputOf(context: VerbContext, operation: OperationId, values: Record<string, unknown>): LooseCall {
  const { path, method } = OPERATIONS[operation]
  const input: LooseCall = { path: {}, query: {}, fields: {} }
  if (path.includes('{project}')) input.path['project'] = context.project()
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    if (name.startsWith('.')) input.fields[name.slice(1)] = value
    else if (path.includes(`{${name}}`)) input.path[name] = value as string
    else if (method === 'GET' || method === 'DELETE') input.query[name] = value
    else input.fields[name] = value
  }
  return input
}

function bodyOf(operation: OperationId, { fields }: LooseCall, flags: VerbFlags): { body?: unknown } {
  const { method } = OPERATIONS[operation]
  if (method === 'GET' || method === 'DELETE') return {}
  const data = flags['data']
  const given = typeof data === 'string' ? jsonFrom(data) : {}
  const isBare = typeof data !== 'string' && Object.keys(fields).length === 0
  return isBare && BARE.has(operation) ? {} : { body: { ...given, ...fields } }
}

/** Reads `-d`, the fields of a request: a JSON object, `@FILE`, or `-` for stdin. @throws UsageError */
export function jsonFrom(text: string): Record<string, unknown> {
  const value = anyJsonFrom(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new UsageError('--data: must be a JSON object.')
}

/** Reads any JSON in the same forms. @throws UsageError */
export function anyJsonFrom(text: string): unknown {
  const path = text.startsWith('@') ? text.slice(1) : null
  if (path !== null) checkInput(path)
  const content = text === '-' ? readFileSync(0, 'utf8') : path === null ? text : readFileSync(path, 'utf8')
  try {
    return JSON.parse(content, finiteOnly)
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError('--data: must be JSON.')
  }
}

/** Rejects a number that is too large to resend. JSON would hold null, which means no limit. @throws UsageError */
function finiteOnly(key: string, value: unknown): unknown {
  if (typeof value !== 'number' || Number.isFinite(value)) return value
  throw new UsageError(`--data: the number at "${key}" is too large.`)
}

/**
 * Calls an operation, waits for work that continues after its answer, prints the answer with all pages of a list, and returns what it
 * printed. On a terminal, reports slow work, and what to do if a list is empty.
 */
export async function callAndPrint(
  context: VerbContext,
  operation: OperationId,
  { input, columns, whenEmpty, brief, forPeople }: { input: object } & ShownAnswer,
): Promise<unknown> {
  const { boxyard, format, tell } = context
  // The table selects the operation at run time, so no type can describe its input.
  const callAny = boxyard.callFully as unknown as (id: OperationId, input: object) => Promise<FullAnswer<unknown>>
  const call = (more: object): Promise<FullAnswer<unknown>> =>
    tellIfSlow(tell, OPERATIONS[operation].summary, () => callAny(operation, { ...input, ...more }))
  const { status, headers, body } = await call({})
  const later = headers.get('operation-location')
  if (later?.includes('/operations/') === true && (status === 201 || status === 202)) {
    const ended = await followOperation(boxyard, later)
    if (brief === undefined) await printAnswer(ended, format)
    else await printBrief(context, brief, (await callAny(brief.get, { path: (input as LooseCall).path })).body)
    return ended
  }
  let page = body as Page
  const items = itemsOf(page)
  while (items !== null && page.has_more === true && typeof page.next_continuation_token === 'string') {
    const query = { ...(input as Page).query, continuation_token: page.next_continuation_token }
    page = (await call({ query })).body as Page
    items.push(...(itemsOf(page) ?? []))
  }
  const whole =
    items === null || !('has_more' in page)
      ? body
      : { ...(body as object), has_more: false, next_continuation_token: null }
  if (items?.length === 0 && whenEmpty !== undefined) tell(whenEmpty)
  const shown = format === 'table' && forPeople !== undefined ? forPeople(whole) : whole
  if (brief === undefined) await printAnswer(shown, format, columns)
  else await printBrief(context, brief, whole)
  return whole
}

type ShownAnswer = Pick<PlainVerb, 'columns' | 'whenEmpty' | 'brief' | 'forPeople'>

/** Prints the short answer for people, and the whole answer in the other formats. */
export function printBrief({ format }: VerbContext, brief: Brief, resource: unknown): Promise<void> {
  return printAnswer(format === 'table' ? briefOf(brief, resource) : resource, format)
}

interface Page {
  has_more?: boolean
  next_continuation_token?: string | null
  query?: object
}

interface Field {
  /** Spelled like the flag. */
  flag: string
  /** Another name of the flag. */
  short: string | undefined
  /** The field that it fills. */
  name: string
  kind: string
  meaning: string
}

/** Parses `short|flag=name:kind meaning`. Everything but the flag is optional. */
function readField(field: string): Field {
  const [, short, flag = '', name = flag, kind = 'text', meaning = ''] =
    /^(?:([a-z]+)\|)?([a-z_]+)(?:=([a-z_.]+))?(?::([a-z]+))?(?: (.*))?$/s.exec(field) ?? []
  return { flag, short, name, kind, meaning }
}

/** Reads typed fields from flags. @throws UsageError */
export function fieldsFrom(fields: readonly string[], flags: VerbFlags): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const { flag, name, kind } of fields.map(readField)) {
    const value = flags[flag.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())]
    if (value === undefined) continue
    const read = readValue(kind, flag, value)
    const [outer = '', inner] = name.split('.')
    found[outer] = inner === undefined ? read : { ...(found[outer] as object | undefined), [inner]: read }
  }
  return found
}

function readValue(kind: string, flag: string, value: unknown): unknown {
  if (kind === 'number') return numberOf(flag, value)
  if (kind === 'map') return pairsOf(value, flagOf(flag))
  if (kind === 'tags') return tagFilterOf(value)
  if (kind === 'since') return sinceOf(flag, value)
  if (kind === 'count') return value === 'all' ? null : numberOf(flag, value, ', or all')
  if (kind === 'span') return NO_SPAN.has(value) ? null : quantityOf('span', flag, value)
  return isQuantity(kind) ? quantityOf(kind, flag, value) : value
}

/** Reads the `KEY=VALUE` pairs of a flag, such as `--env`. @throws UsageError */
export function pairsOf(value: unknown, flag: string): Record<string, string> {
  const pairs = Array.isArray(value) ? (value as string[]) : []
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new UsageError(`${flag}: must be KEY=VALUE, not "${pair}".`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}

/** Flags of every command, which change nothing. */
const GLOBAL: ReadonlySet<string> = new Set(['context', 'project', 'output', 'version'])
const VALUES: Readonly<Record<string, string>> = {
  number: ' <n>',
  mib: ' <size>',
  gib: ' <size>',
  seconds: ' <time>',
  span: ' <time>',
  count: ' <n>',
  flag: '',
  map: ' <key=value...>',
  list: ' <value,...>',
  tags: ' <key=value,...>',
}
/** Operations that change something but take no body. */
const BARE: ReadonlySet<OperationId> = new Set<OperationId>([
  ...(['startScrub', 'stopBox', 'resumeBox', 'startService', 'stopService'] as const),
  ...(['discardService', 'createBackup'] as const),
])

import { setTimeout as pause } from 'node:timers/promises'
import type { AnswerOf, CallInput, FullAnswer } from '../../sdk/typescript/src/calls.ts'
import { printAnswer } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import { followOperation } from '../output/waiting.ts'
import { DATA_FLAG } from './box-settings.ts'
import { SERVICE_BRIEF } from './briefs.ts'
import { fieldsFrom, jsonFrom, printBrief } from './plain.ts'
import type { Verb, VerbContext } from './verb.ts'

const put: Verb = {
  words: 'service put',
  args: '<box> <service> [command...]',
  flags: [
    ['--port <n>', 'port that its URL forwards to. The service gets it as PORT'],
    ['--protocol <name>', 'protocol of that port: http, or h2c (HTTP/2 without TLS, for gRPC)'],
    ['--cwd <path>', 'working directory'],
    ['--user <user>', 'user to run it as'],
    ['--env <key=value...>', 'its whole environment (KEY without a value copies yours)'],
    ['--restart <when>', 'always, on-failure or never'],
    ['--needs <service,...>', 'services that must be ready before it starts'],
    ['--grace <time>', 'time between the stop signal and SIGKILL, such as 30s'],
    DATA_FLAG,
  ],
  summary: 'Create a service and start it, or change its definition. Exits 1 if it is not ready',
  details:
    'A running service keeps its old definition until boxyard service restart. The command lists the changes that wait for it.',
  examples: ['boxyard service put --port 3000 web site node /srv/site.js'],
  operations: ['putService', 'getService'],
  run: async (context, [name = '', service = '', ...command], flags) => {
    const body = {
      ...(typeof flags['data'] === 'string' ? jsonFrom(flags['data']) : {}),
      ...fieldsFrom(PUT_FIELDS, flags),
      ...(command.length === 0 ? {} : { command }),
    } as CallInput<'putService'>['body']
    const path = { project: context.project(), name, service }
    return printReady(context, path, await context.boxyard.call('putService', { path, body }))
  },
}

const restart: Verb = {
  words: 'service restart',
  args: '<box> <service>',
  flags: [],
  summary: 'Restart a service with its current definition. Exits 1 if it is not ready',
  details:
    'Stops all versions of the service and discards a preview. To avoid downtime: boxyard deploy, then boxyard promote.',
  examples: ['boxyard service restart web site'],
  operations: ['stopService', 'startService', 'getService'],
  run: async (context, [name = '', service = '']) => {
    const path = { project: context.project(), name, service }
    context.tell(`Stopping ${service}`)
    let stopped = await context.boxyard.call('stopService', { path })
    while (stopped.state === 'stopping') stopped = await later(context, path)
    return printReady(context, path, await context.boxyard.call('startService', { path }))
  },
}

const deploy: Verb = {
  words: 'deploy',
  args: '<box> <service> [command...]',
  flags: [
    ['--env <key=value...>', 'environment, instead of the one of the service (KEY without a value copies yours)'],
    ['--isolation <kind>', 'process (run it in the box) or fork (run it in a copy of the box)'],
    ['--copy-data', 'with --isolation fork: attach writable copies of the volumes'],
    ['--ready-seconds <time>', 'time limit for it to become ready, such as 5m (60)'],
    DATA_FLAG,
  ],
  summary: 'Start a new version beside the active one, and wait until it is ready. Exits 1 if it fails',
  details: 'The new version has a preview URL. boxyard promote makes it active, and boxyard discard stops it.',
  examples: ['boxyard deploy web site /srv/site-2', 'boxyard deploy --env LEVEL=debug --isolation fork web site'],
  operations: ['deployService', 'getService'],
  run: async (context, [name = '', service = '', ...command], flags) => {
    const body = {
      ...(typeof flags['data'] === 'string' ? jsonFrom(flags['data']) : {}),
      ...fieldsFrom(['env:map', 'isolation', 'copy_data:flag', 'ready_seconds:seconds'], flags),
      ...(command.length === 0 ? {} : { command }),
    } as CallInput<'deployService'>['body']
    context.tell(`Starting a version of ${service}`)
    const path = { project: context.project(), name, service }
    const answer = await context.boxyard.callFully('deployService', { path, body })
    const found = await settle(context, path, answer)
    await printService(context, found)
    if (found.preview === null || found.preview.state !== 'failed') return 0
    reportLine(`boxyard: the new version failed${found.preview.message === null ? '' : `: ${found.preview.message}`}`)
    return 1
  },
}

const promote: Verb = {
  words: 'promote',
  args: '<box> <service>',
  flags: [],
  summary: 'Make the preview the active version, without losing a request',
  examples: ['boxyard promote web site'],
  operations: ['promoteService', 'getService'],
  run: async (context, [name = '', service = '']) => {
    const path = { project: context.project(), name, service }
    context.tell(`Promoting the preview of ${service}`)
    await printService(
      context,
      await settle(context, path, await context.boxyard.callFully('promoteService', { path })),
    )
  },
}

const rollback: Verb = {
  words: 'rollback',
  args: '<box> <service>',
  flags: [],
  summary: 'Make the previous version active again. Run it again to undo',
  examples: ['boxyard rollback web site'],
  operations: ['rollbackService', 'getService'],
  run: async (context, [name = '', service = '']) => {
    const path = { project: context.project(), name, service }
    context.tell(`Rolling ${service} back`)
    await printService(
      context,
      await settle(context, path, await context.boxyard.callFully('rollbackService', { path })),
    )
  },
}

/** The commands of services and their versions that are more than one operation each. */
export const SERVICE_VERBS: readonly Verb[] = [put, restart, deploy, promote, rollback]

type Service = AnswerOf<'getService'>
type ServicePath = CallInput<'getService'>['path']

/**
 * Waits until a service is ready or has failed, prints it, and reports changes that are not in effect yet. Returns 1 if it is not ready.
 */
async function printReady(context: VerbContext, path: ServicePath, answered: Service): Promise<number> {
  const until = performance.now() + READY_MS
  let service = answered
  if (isStarting(service)) context.tell(`Waiting until ${service.name} is ready`)
  while (isStarting(service) && performance.now() < until) service = await later(context, path)
  const restarts = service.active?.restarts ?? 0
  // Without a probe it is ready once it runs, even if it ends at once.
  if (service.state === 'running' && service.spec.readiness === null) service = await later(context, path, ENDS_MS)
  await printBrief(context, SERVICE_BRIEF, service)
  const waiting = notInForce(service)
  if (waiting.length > 0) {
    const restarted = `boxyard service restart ${path.name} ${service.name}`
    reportLine(`boxyard: these changes wait for the next start: ${waiting.join(', ')}. To apply them now: ${restarted}`)
  }
  const hasEnded = (service.active?.restarts ?? 0) > restarts
  if (isReady(service) && !hasEnded) return 0
  const reason = (service.message ?? (hasEnded ? 'it exited and was restarted' : `it is ${service.state}`)).replace(
    /\.$/,
    '',
  )
  reportLine(
    `boxyard: ${service.name} is not ready: ${reason}. For its output: boxyard logs ${path.name} ${service.name}`,
  )
  return 1
}

async function later({ boxyard }: VerbContext, path: ServicePath, waitMs = LOOK_MS): Promise<Service> {
  await pause(waitMs)
  return boxyard.call('getService', { path })
}

function isStarting({ state, active }: Service): boolean {
  return state === 'starting' || (state === 'running' && active?.health === 'starting')
}

/** Returns whether a service is in its requested state: ready, stopped on request, or stopped with its box. A pure function. */
function isReady(service: Service): boolean {
  if (isStarting(service) || service.state === 'failed') return false
  return service.state !== 'running' || service.active?.health !== 'unhealthy'
}

/** Returns the fields of the definition that the process which runs does not have. A pure function. */
export function notInForce({ spec, active }: Pick<Service, 'spec' | 'active'>): string[] {
  if (active?.alive !== true) return []
  const [defined, running]: Readonly<Record<string, unknown>>[] = [spec, active.spec]
  return Object.keys(spec).filter((field) => JSON.stringify(defined?.[field]) !== JSON.stringify(running?.[field]))
}

/** Waits if the answer says that the work continues, and returns the resulting service. */
async function settle(
  { boxyard }: VerbContext,
  path: { project: string; name: string; service: string },
  { status, headers, body }: FullAnswer<unknown>,
): Promise<Service> {
  const operation = headers.get('operation-location')
  if (status !== 202 || operation === null) return body as Service
  await followOperation(boxyard, operation)
  return boxyard.call('getService', { path })
}

/** Prints the important fields of its versions, or all fields with `-o json` and `-o yaml`. */
async function printService({ format }: VerbContext, service: Service): Promise<void> {
  await printAnswer(format === 'table' ? versionsOf(service) : service, format)
}

/** Creates the fields that describe the versions of a service. A pure function. */
export function versionsOf({ name, state, active, preview, previous, ...urls }: Service): Record<string, string> {
  const of = (version: { spec: { command: string[] } } | null): string => version?.spec.command.join(' ') ?? '-'
  return {
    name,
    state,
    active: of(active),
    ...(urls.active_url === null ? {} : { active_url: urls.active_url }),
    preview: preview === null ? '-' : `${preview.state}: ${of(preview)}`,
    ...(urls.preview_url === null ? {} : { preview_url: urls.preview_url }),
    previous: of(previous),
  }
}

const PUT_FIELDS = [
  'port:number',
  'protocol',
  'cwd',
  'user',
  'env:map',
  'restart',
  'needs:list',
  'grace=grace_seconds:seconds',
]
const LOOK_MS = 250
/** Time in which most programs with a failing start have ended. */
const ENDS_MS = 500
/** Time that a service has to become ready, the same as for a deployed version. */
const READY_MS = 60_000

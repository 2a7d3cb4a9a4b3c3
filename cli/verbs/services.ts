import type { AnswerOf, CallInput, FullAnswer } from '../../sdk/typescript/src/calls.ts'
import { printAnswer } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import { followOperation } from '../output/waiting.ts'
import { fieldsFrom, jsonFrom } from './plain.ts'
import type { Verb, VerbContext } from './verb.ts'

const deploy: Verb = {
  words: 'deploy',
  args: '<box> <service> [command...]',
  flags: [
    ['--env <key=value...>', 'its environment, instead of that of the service; KEY alone as it is here'],
    ['--isolation <kind>', 'process: in the box; fork: in a copy of it'],
    ['--snapshot', 'in a copy: with writable copies of the volumes'],
    ['--ready-seconds <n>', 'within which it has to be ready (60)'],
    ['-d, --data <json>', 'further fields as JSON; @FILE, or - for stdin'],
  ],
  summary: 'Start a version of a service beside the active one, and wait until it is ready; exit code 1 if it fails',
  details: 'It is at its preview URL until boxyard promote makes it the active one, or boxyard discard ends it.',
  examples: ['boxyard deploy web site /srv/site-2', 'boxyard deploy --env LEVEL=debug --isolation fork web site'],
  operations: ['deployService', 'getService'],
  run: async (context, [name = '', service = '', ...command], flags) => {
    const body = {
      ...(typeof flags['data'] === 'string' ? jsonFrom(flags['data']) : {}),
      ...fieldsFrom(['env:map', 'isolation', 'snapshot:flag', 'ready_seconds:number'], flags),
      ...(command.length === 0 ? {} : { command }),
    } as CallInput<'deployService'>['body']
    context.tell(`Starting a version of ${service}`)
    const path = { project: context.project(), name, service }
    const answer = await context.boxyard.callFully('deployService', { path, body })
    const found = await settle(context, path, answer)
    await printService(context, found)
    if (found.preview === null || found.preview.state !== 'failed') return 0
    reportLine(`boxyard: it failed${found.preview.message === null ? '' : `: ${found.preview.message}`}`)
    return 1
  },
}

const promote: Verb = {
  words: 'promote',
  args: '<box> <service>',
  flags: [],
  summary: 'Make the version that was deployed the active one, without losing a request',
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
  summary: 'Make the version that was active before the active one again; once more takes that back',
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

/** The verbs that bring versions of services. */
export const SERVICE_VERBS: readonly Verb[] = [deploy, promote, rollback]

type Service = AnswerOf<'getService'>

/** Waits where the answer says that it goes on, and returns the service as it is then. */
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

/** Prints what matters of its versions; all of it with `-o json` and `-o yaml`. */
async function printService({ format }: VerbContext, service: Service): Promise<void> {
  await printAnswer(format === 'table' ? versionsOf(service) : service, format)
}

/** Makes the fields that tell of the versions of a service. A pure function. */
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

import { createReadStream, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { parseJson, toApiError } from '../../sdk/typescript/src/problems.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter, metered } from '../output/meter.ts'
import { followOperation } from '../output/waiting.ts'
import { callAndPrint } from './plain.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const create: Verb = {
  words: 'base create',
  args: '<base>',
  flags: [
    ['--box <box>', 'of the disk of a box, as it is now'],
    ['--snapshot <snapshot>', 'as it was in this snapshot of the box'],
    ['--image <reference>', 'of a public image of a registry, such as debian:12'],
    ['--tar <file>', 'of the tar of a root filesystem, plain or compressed; - is stdin'],
    ['--image-tar <file>', 'of the archive of an image (docker save, or an OCI image layout); - is stdin'],
    ['--shared', 'for all projects'],
  ],
  summary: 'Make a base: of a box, an image of a registry, or an archive; and wait until boxes can be made from it',
  examples: [
    'boxyard base create tools --box web',
    'boxyard base create bookworm --image debian:12',
    'boxyard base create alpine --tar alpine.tar.zst',
    'docker save app:1 | boxyard base create app --image-tar -',
  ],
  operations: ['createBase', 'getBase', 'createProjectTicket'],
  run: async (context, [name = ''], flags) => {
    const sources = ['box', 'image', 'tar', 'imageTar'].filter((flag) => flags[flag] !== undefined)
    if (sources.length !== 1) throw new UsageError('One of --box, --image, --tar and --image-tar is needed.')
    const file = flags['tar'] ?? flags['imageTar']
    const location =
      typeof file === 'string' ? await sendArchive(context, { name, file, flags }) : await ask(context, name, flags)
    if (location !== null) await followOperation(context.boxyard, location)
    const query = { shared: flags['shared'] === true }
    await callAndPrint(context, 'getBase', { path: { project: context.project(), base: name }, query })
  },
}

/** The verb that makes bases. */
export const BASE_VERBS: readonly Verb[] = [create]

/** Asks for a base of what the service can reach by itself. Returns the operation that goes on; null: it is there. */
async function ask({ boxyard, project, tell }: VerbContext, name: string, flags: VerbFlags): Promise<string | null> {
  const { box, snapshot, image, shared } = flags
  tell(`Making ${name} of ${String(image ?? box)}`)
  const { status, headers } = await boxyard.callFully('createBase', {
    path: { project: project() },
    body: {
      name,
      ...(typeof box === 'string' ? { box } : {}),
      ...(typeof snapshot === 'string' ? { snapshot } : {}),
      ...(typeof image === 'string' ? { image } : {}),
      ...(shared === true ? { shared } : {}),
    },
  })
  return status === 202 ? headers.get('operation-location') : null
}

interface ArchiveToSend {
  name: string
  /** A path, or - for stdin. */
  file: string
  flags: VerbFlags
}

async function sendArchive(context: VerbContext, { name, file, flags }: ArchiveToSend): Promise<string | null> {
  const meter = createMeter(name, file === '-' ? null : statSync(file).size)
  const query: Record<string, string> = {
    name,
    ...(flags['shared'] === true ? { shared: 'true' } : {}),
    ...(flags['imageTar'] === undefined ? {} : { image: 'true' }),
  }
  const bodyOf = (input: Readable): ReadableStream<Uint8Array> => ReadableStream.from(metered(input, meter))
  try {
    const response = await send(context, query, () => bodyOf(file === '-' ? process.stdin : createReadStream(file)))
    const base = (await response.json()) as { unpacked?: { refused_count: number; refused: object[] } }
    meter.end()
    for (const each of base.unpacked?.refused ?? [])
      process.stderr.write(`boxyard: left out: ${JSON.stringify(each)}\n`)
    return response.status === 202 ? response.headers.get('operation-location') : null
  } finally {
    meter.end()
  }
}

/** Sends an archive to the front; where that is a function, to the address that a ticket names, as far as it can be read again. */
async function send(
  { boxyard, project }: VerbContext,
  query: Record<string, string>,
  body: () => ReadableStream<Uint8Array>,
): Promise<Response> {
  const path = { project: project() }
  try {
    return await boxyard.transfer('createBase', { path, query, body: body(), contentType: TAR })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'body_too_large')) throw error
    const { url = '' } = await boxyard.call('createProjectTicket', { path, body: { operation: 'createBase', query } })
    const init = { method: 'POST', body: body(), headers: { 'content-type': TAR }, duplex: 'half' } as RequestInit
    const response = await fetch(url, init)
    if (!response.ok) throw toApiError(response.status, parseJson(await response.text()))
    return response
  }
}

const TAR = 'application/x-tar'

import { statSync } from 'node:fs'
import { sendBytes } from '../files/uploading.ts'
import { UsageError } from '../output/failures.ts'
import { createMeter } from '../output/meter.ts'
import { printAnswer } from '../output/printing.ts'
import { isSeen, reportLine } from '../output/terminal.ts'
import { visibleJson } from '../output/visible-text.ts'
import { followOperation } from '../output/waiting.ts'
import { callAndPrint, fieldsFrom } from './plain.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const create: Verb = {
  words: 'base create',
  args: '<base>',
  flags: [
    ['--box <box>', 'copy the current disk of a box'],
    ['--snapshot <snapshot>', 'with --box: copy this snapshot of it instead'],
    ['--image <reference>', 'pull a public image, such as debian:12'],
    ['--tar <file>', 'unpack a tar archive of a root filesystem, also a compressed one (- is stdin)'],
    ['--image-tar <file>', 'unpack an image archive from docker save, or an OCI image layout (- is stdin)'],
    ['--shared', 'share it with all projects'],
  ],
  summary: 'Create a base from a box, a registry image or an archive, and wait until it is ready',
  examples: [
    'boxyard base create tools --box web',
    'boxyard base create bookworm --image debian:12',
    'boxyard base create alpine --tar alpine.tar.zst',
    'docker save app:1 | boxyard base create app --image-tar -',
  ],
  operations: ['createBase', 'getBase', 'createProjectTicket'],
  run: async (context, [name = ''], flags) => {
    const sources = ['box', 'image', 'tar', 'imageTar'].filter((flag) => flags[flag] !== undefined)
    if (sources.length !== 1) throw new UsageError('Give exactly one source: --box, --image, --tar or --image-tar.')
    const file = flags['tar'] ?? flags['imageTar']
    const location =
      typeof file === 'string' ? await sendArchive(context, { name, file, flags }) : await ask(context, name, flags)
    if (location !== null) await followOperation(context.boxyard, location)
    const query = { shared: flags['shared'] === true }
    await callAndPrint(context, 'getBase', { input: { path: { project: context.project(), base: name }, query } })
  },
}

const list: Verb = {
  words: 'base ls',
  args: '',
  flags: [['--prefix <text>', 'only names with this prefix']],
  summary: 'List the bases of the project and the bases that all projects share',
  details: '-o json and -o yaml list only the bases of the project. For the others, run boxyard base shared.',
  examples: ['boxyard base ls'],
  operations: ['listBases', 'listSharedBases'],
  run: async (context, _args, flags) => {
    const { boxyard, project, format } = context
    const query = fieldsFrom(['prefix'], flags)
    const own = { path: { project: project() }, query }
    if (format === 'json' || format === 'yaml') return void (await callAndPrint(context, 'listBases', { input: own }))
    const rows: object[] = []
    for await (const base of boxyard.list('listBases', own)) rows.push({ ...base, shared: 'no' })
    for await (const base of boxyard.list('listSharedBases', { query })) rows.push({ ...base, shared: 'yes' })
    await printAnswer(rows, format, ['name', 'shared', 'size_bytes', 'created_at', 'id'])
  },
}

/** The commands of bases that are more than one operation. */
export const BASE_VERBS: readonly Verb[] = [create, list]

/**
 * Requests a base from a source that the service can reach without the client. Returns the operation that is still running, or null if the
 * base exists.
 */
async function ask({ boxyard, project, tell }: VerbContext, name: string, flags: VerbFlags): Promise<string | null> {
  const { box, snapshot, image, shared } = flags
  tell(`Creating ${name} from ${String(image ?? box)}`)
  const { status, headers } = await boxyard.callFully('createBase', {
    path: { project: project() },
    query: isSeen() ? AT_ONCE : {},
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
    ...(isSeen() ? { wait_seconds: '0' } : {}),
  }
  try {
    const from = file === '-' ? null : file
    const made = await sendBytes(from, meter, (body) => context.boxyard.createBaseFrom(context.project(), body, query))
    meter.end()
    const { refused = [] } = (made.body.unpacked ?? {}) as { refused?: object[] }
    for (const each of refused) reportLine(`boxyard: left out: ${visibleJson(each)}`)
    return made.status === 202 ? made.headers.get('operation-location') : null
  } finally {
    meter.end()
  }
}

/** Shows progress on a terminal from the beginning, not only after the service's wait. */
const AT_ONCE = { wait_seconds: 0 }

import { ConnectionError } from '../../sdk/typescript/src/api-error.ts'
import { createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { writeDirectoryDefaults } from '../context/directory-file.ts'
import { checkContextName, checkProjectName, checkServiceUrl, namedProjects } from '../context/names.ts'
import { isEmptyProject } from '../context/project-check.ts'
import { contextNamed, readContexts, type StoredContext, type StoredContexts, writeContexts } from '../context/store.ts'
import { UsageError } from '../output/failures.ts'
import { printAnswer } from '../output/printing.ts'
import { reportLine } from '../output/terminal.ts'
import type { Verb, VerbFlags } from './verb.ts'

const login: Verb = {
  words: 'login',
  args: '[url]',
  flags: [['--name <context>', 'name of the context (default: the host of the URL)']],
  summary: 'Log in to a service. Asks for the token or reads it from stdin, tests it, and saves it',
  examples: ['boxyard login', 'boxyard login https://boxes.example < token'],
  operations: ['getMe'],
  run: async ({ tell }, [given], flags) => {
    const chosen = typeof flags['name'] === 'string' ? checkContextName(flags['name'], '--name') : null
    const url = checkServiceUrl(given ?? (await ask('URL of the service')), '[url]')
    const token = (process.stdin.isTTY ? await askSecret('Token') : await readStdin()).trim()
    if (token === '') throw new UsageError('No token on stdin. Run boxyard login URL < TOKEN_FILE')
    const me = await createBoxyard({ url, token, attempts: 1 }).call('getMe', {}).catch(retold(url))
    const name = chosen ?? new URL(url).host
    const { contexts } = readContexts(process.env)
    const [only, second] = namedProjects(me.projects)
    const isOnly = only !== undefined && second === undefined
    const context: StoredContext = { url, token, ...(isOnly && { project: only }) }
    writeContexts(process.env, { current: name, contexts: { ...contexts, [name]: context } })
    tell(`Logged in to ${url} as ${me.name}.`)
  },
}

const logout: Verb = {
  words: 'logout',
  args: '[context]',
  flags: [],
  summary: 'Delete a context and its token from this machine. The token stays valid until it is revoked',
  examples: ['boxyard logout'],
  operations: [],
  run: async (_context, [given], flags) => {
    const stored = readContexts(process.env)
    const chosen = given ?? namedContext(stored, flags)
    const name = chosen ?? stored.current ?? ''
    const context = contextNamed(stored, name)
    // Holds no token, but the project that the user chose.
    if (chosen === undefined && (context === undefined || context.url === undefined))
      throw new UsageError(`You are not logged in.${context === undefined ? '' : forgetWay(name)}`)
    if (context === undefined) throw new UsageError(`There is no context "${name}". boxyard context ls lists them.`)
    const contexts = Object.fromEntries(Object.entries(stored.contexts).filter(([each]) => each !== name))
    const current = name === stored.current ? {} : { current: stored.current }
    writeContexts(process.env, { ...current, contexts })
  },
}

const use: Verb = {
  words: 'use',
  args: '<project>',
  flags: [
    ['--here', 'only for this directory and those below: write a .boxyard file'],
    ['--box <box>', 'with --here: the box that "." means'],
  ],
  summary: 'Set the project that commands use',
  details: 'Reports a project that has nothing yet, and refuses one that the token does not allow.',
  examples: ['boxyard use demo', 'boxyard use demo --here --box web'],
  operations: ['getMe', 'listProjects'],
  run: async ({ environment }, [project = ''], flags) => {
    const box = flags['box']
    const isHere = flags['here'] === true
    checkProjectName(project, '<project>')
    if (!isHere && box !== undefined) throw new UsageError('--box: needs --here.')
    const stored = readContexts(process.env)
    const { contexts, current = LOCAL } = stored
    const name = namedContext(stored, flags) ?? current
    const { context } = flags
    const given = typeof context === 'string' ? { context } : {}
    const isEmpty = await isEmptyProject({ project, flags: given, environment, context: isHere ? null : name })
    if (isHere) writeDirectoryDefaults(process.cwd(), { project, ...(typeof box === 'string' ? { box } : {}) })
    else writeContexts(process.env, { current, contexts: { ...contexts, [name]: { ...contexts[name], project } } })
    if (isEmpty === true) reportLine(`Project "${project}" has nothing yet. To start it: boxyard create BOX`)
  },
}

/** Returns the context that `--context` or BOXYARD_CONTEXT names. @throws UsageError if it does not exist */
function namedContext(stored: StoredContexts, flags: VerbFlags): string | undefined {
  const name = typeof flags['context'] === 'string' ? flags['context'] : process.env['BOXYARD_CONTEXT'] || undefined
  if (name === undefined || contextNamed(stored, checkContextName(name, '--context')) !== undefined) return name
  throw new UsageError(`There is no context "${name}". boxyard context ls lists them.`)
}

const list: Verb = {
  words: 'context ls',
  args: '',
  flags: [],
  summary: 'List the services that you are logged in to',
  examples: ['boxyard context ls'],
  operations: [],
  run: async ({ format }) => {
    const { contexts, current } = readContexts(process.env)
    const rows = Object.entries(contexts).map(([name, { url, project }]) => {
      return { name, url: url ?? 'this host', project: project ?? null, status: name === current ? 'current' : '' }
    })
    await printAnswer(rows, format, ['name', 'url', 'project', 'status'])
  },
}

const select: Verb = {
  words: 'context use',
  args: '<context>',
  flags: [],
  summary: 'Set the context that commands use',
  examples: ['boxyard context use staging'],
  operations: [],
  run: async (_context, [name = '']) => {
    const stored = readContexts(process.env)
    if (contextNamed(stored, name) === undefined)
      throw new UsageError(`There is no context "${name}". boxyard context ls lists them.`)
    writeContexts(process.env, { ...stored, current: name })
  },
}

/** Returns how to delete the context of this host's service, which has no login. */
function forgetWay(name: string): string {
  return ` Commands use the service of this host. To forget the project that you chose for it: boxyard logout ${name}`
}

/** The commands of logins. */
export const LOGIN_VERBS: readonly Verb[] = [login, logout, use, list, select]

async function ask(message: string): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError('Give the URL: boxyard login URL < TOKEN_FILE')
  const { text, isCancel } = await import('@clack/prompts')
  const answer = await text({ message, placeholder: 'http://127.0.0.1:8080', output: process.stderr })
  if (isCancel(answer)) throw new UsageError('Canceled. Nothing changed.')
  return answer
}

async function askSecret(message: string): Promise<string> {
  const { password, isCancel } = await import('@clack/prompts')
  const answer = await password({ message, output: process.stderr })
  if (isCancel(answer)) throw new UsageError('Canceled. Nothing changed.')
  return answer
}

async function readStdin(): Promise<string> {
  let text = ''
  for await (const piece of process.stdin) text += String(piece)
  return text
}

/** Throws the error of a request to a service at `url`. If the service does not speak TLS, uses clearer words than OpenSSL's. */
function retold(url: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ConnectionError) || !isNoTls(error)) throw error
    const plain = url.replace(/^https:/, 'http:')
    const what = `${url} does not speak HTTPS. If it uses plain HTTP: boxyard login ${plain}`
    throw new ConnectionError(what, { cause: error })
  }
}

function isNoTls(error: Error): boolean {
  if ('code' in error && NO_TLS.has(String(error.code))) return true
  return error.cause instanceof Error && isNoTls(error.cause)
}

/** OpenSSL's codes for an answer that is not TLS. */
const NO_TLS: ReadonlySet<string> = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
/** The context of a user who has not logged in. It has no address and no token, because this host's address and token change. */
const LOCAL = 'local'

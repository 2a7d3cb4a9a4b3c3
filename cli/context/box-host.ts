import { type BoxHandle, type Boxyard, createBoxyard } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'
import type { VerbContext } from '../verbs/verb.ts'
import { type Connection, findConnection } from './connection.ts'
import { readContexts } from './store.ts'

/** A host name that leads to a box. Null fields default to the command's own connection. */
export interface BoxHost {
  box: string
  project: string | null
  context: string | null
}

/**
 * Parses `BOX[.PROJECT[.CONTEXT]].boxyard`, in any case and with or without a final dot. A context may itself contain dots. Returns null
 * for any other name. A pure function.
 */
export function parseBoxHost(host: string): BoxHost | null {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (!name.endsWith(BOX_DOMAIN)) return null
  const [box = '', project = null, ...rest] = name.slice(0, -BOX_DOMAIN.length).split('.')
  const isName = (label: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label)
  if (!isName(box) || (project !== null && !isName(project)) || rest.includes('')) return null
  return { box, project, context: rest.length === 0 ? null : rest.join('.') }
}

/** A box, with the client of its service. */
export interface OpenedBox {
  boxyard: Boxyard
  connection: Connection
  box: BoxHandle
}

/**
 * Creates a function that opens boxes by host name, and creates the client of each other context once. The function throws UsageError for a
 * name that is not a box, and for an unknown context.
 */
export function createHostOpener(verb: VerbContext): (host: string) => OpenedBox {
  const clients = new Map<string, Omit<OpenedBox, 'box'>>()
  const clientOf = (context: string): Omit<OpenedBox, 'box'> => {
    const known = clients.get(context)
    if (known !== undefined) return known
    // A host name has no capitals.
    const names = Object.keys(readContexts(verb.environment).contexts)
    const name = names.find((each) => each === context) ?? names.find((each) => each.toLowerCase() === context)
    const connection = findConnection({ context: name ?? context }, verb.environment, process.cwd())
    const { url, token } = connection
    const made = { boxyard: createBoxyard({ url, token }), connection }
    clients.set(context, made)
    return made
  }
  return (text) => {
    const host = parseBoxHost(text)
    if (host === null) throw new UsageError(`Not BOX[.PROJECT[.CONTEXT]]${BOX_DOMAIN}: ${text}`)
    if (host.context === null) {
      const { boxyard, connection } = verb
      return { boxyard, connection, box: boxyard.box(host.project ?? verb.project(), host.box) }
    }
    const { boxyard, connection } = clientOf(host.context)
    return { boxyard, connection, box: boxyard.box(host.project ?? connection.project ?? verb.project(), host.box) }
  }
}

/** Suffix of all host names of boxes. */
export const BOX_DOMAIN = '.boxyard'

import { printAnswer } from '../output/printing.ts'
import { printLine } from '../output/terminal.ts'
import { startOpener } from '../programs.ts'
import type { Verb, VerbContext } from './verb.ts'

const url: Verb = {
  words: 'url',
  args: '<box> [service]',
  flags: [['--ticket', 'a URL that a browser opens once without a token, valid 60 s']],
  summary: 'Print the URL of a box or a service',
  examples: ['boxyard url web', 'boxyard url web site', 'boxyard url --ticket web'],
  operations: ['getBox', 'getService', 'createUrlTicket'],
  run: async (context, [name = '', service], { ticket }) => {
    const found = await urlOf(context, name, service)
    await printUrl(context, ticket === undefined ? found : await ticketFor(context, name, found))
  },
}

const open: Verb = {
  words: 'open',
  args: '<box> [service]',
  flags: [],
  summary: 'Open the URL of a box or a service in the browser, and print it',
  examples: ['boxyard open web', 'boxyard open web site'],
  operations: ['getBox', 'getService'],
  run: async (context, [name = '', service]) => {
    const found = await urlOf(context, name, service)
    await printUrl(context, found)
    const opener = openerOf(process.platform, context.environment)
    if (opener === null) return
    const [program, ...args] = opener
    const child = startOpener(program, args, found)
    // A user without such a program has the URL.
    child.once('error', () => undefined)
    child.unref()
    await new Promise((resolve) => child.once('spawn', resolve).once('error', resolve))
  },
}

/** The commands of URLs. */
export const URL_VERBS: readonly Verb[] = [url, open]

/** Returns the command that opens a URL for the user at this machine, or null if no user can see it. A pure function. */
export function openerOf(
  platform: NodeJS.Platform,
  environment: Readonly<Record<string, string | undefined>>,
): [program: string, ...args: string[]] | null {
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return environment['DISPLAY'] || environment['WAYLAND_DISPLAY'] ? ['xdg-open'] : null
}

async function urlOf({ boxyard, project }: VerbContext, name: string, service: string | undefined): Promise<string> {
  const path = { project: project(), name }
  const found =
    service === undefined
      ? (await boxyard.call('getBox', { path })).url
      : (await boxyard.call('getService', { path: { ...path, service } })).active_url
  if (found === null || found === undefined)
    throw new Error(`${service ?? name} has no URL. A service gets one with its port: boxyard service put --port PORT.`)
  return found
}

async function ticketFor({ boxyard, project }: VerbContext, name: string, url: string): Promise<string> {
  const ticket = await boxyard.call('createUrlTicket', { path: { project: project(), name }, body: { url } })
  if (ticket.url === undefined) throw new Error('The service returned no URL.')
  return ticket.url
}

async function printUrl({ format }: VerbContext, found: string): Promise<void> {
  if (format === 'json' || format === 'yaml') await printAnswer({ url: found }, format)
  else printLine(found)
}
